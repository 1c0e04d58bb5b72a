#!/bin/bash
set -e
mkdir -p /restored
cd /restored
for archive in /backup/0-full.tar.xz /backup/1-change.tar.gz /backup/2-change.tar.bz2; do
  if tar -xOf "$archive" ./.deleted > /tmp/deleted 2> /dev/null; then
    while IFS= read -r path; do rm -rf "./$path"; done < /tmp/deleted
  fi
  tar -xpf "$archive"
  rm -f .deleted
done
find . -type f | LC_ALL=C sort | xargs -d '\n' sha256sum > /MANIFEST
