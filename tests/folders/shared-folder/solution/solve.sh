#!/bin/sh
cd /srv/share
find . -type f -name '*.tmp' -size 0 -delete
find . -type d -exec chmod 2750 {} +
find . -type f -exec chmod 640 {} +
find . -type f | while IFS= read -r file; do
  case $file in
    *.sh) chmod 750 "$file" ;;
    *) [ "$(head -c 2 "$file")" = '#!' ] && chmod 750 "$file" ;;
  esac
done
true
