#!/bin/bash
cat > /opt/tool/bin/settings <<'END'
#!/bin/bash
name=${1-}
[[ $name =~ ^[a-z0-9-]+$ ]] || exit 2
variable=TOOL_$(tr 'a-z-' 'A-Z_' <<< "$name")
if [ -n "${!variable+set}" ]; then
  printf '%s\n' "${!variable}"
  exit 0
fi
for file in "${TOOL_CONFIG-}" "$TOOL_HOME/defaults.conf"; do
  [ -f "$file" ] || continue
  if line=$(grep "^$name=" "$file" | tail -n 1) && [ -n "$line" ]; then
    printf '%s\n' "${line#*=}"
    exit 0
  fi
done
exit 1
END
chmod +x /opt/tool/bin/settings
