#!/bin/bash
tool=/opt/tool/bin/settings
config=$(mktemp)
printf '#size=1\nsize=12\ncolour=a = b \n' > "$config"
found=$(
  cat /opt/tool/NOTE
  say() { "$@"; echo "[$?]"; }
  say "$tool" colour; say "$tool" path; say "$tool" size; say "$tool" max-age; say "$tool" mode; say "$tool" none
  export TOOL_CONFIG=$config
  say "$tool" colour; say "$tool" size; say "$tool" path
  TOOL_COLOUR= say "$tool" colour; TOOL_MAX_AGE=7 say "$tool" max-age
  TOOL_CONFIG=/missing say "$tool" size
  TOOL_HOME=/missing say "$tool" path
  say "$tool"; say "$tool" 'a.*'; say "$tool" ''
) 2> /dev/null
expected='made for /opt/tool in /opt/tool
green
[0]
/srv/a=b
[0]

[0]
30
[0]
quiet mode
[0]
[1]
a = b 
[0]
12
[0]
/srv/a=b
[0]

[0]
7
[0]

[0]
[1]
[2]
[2]
[2]'
if [ "$found" = "$expected" ]; then echo '{"reward": 1.0}'; else echo '{"reward": 0.0}'; fi > /logs/verifier/reward.json
