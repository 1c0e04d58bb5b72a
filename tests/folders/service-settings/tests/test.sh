#!/bin/sh
cat > /tmp/expected <<'END'
# courier: settings
listen = 0.0.0.0
port = 2525

# sizes in bytes
max_size = 20971520
#debug = yes
queue = /var/spool/courier
log_file = /var/log/courier.log
END
reward=0
sed 's/^# *debug/#debug/' /etc/courier/courier.conf | cmp -s - /tmp/expected && [ "$(stat -c '%a %F' /etc/courier/courier.conf)" = '640 regular file' ] && reward=1
echo $reward > /logs/verifier/reward.txt
