#!/bin/sh
file=/etc/courier/courier.conf
sed -i 's/^port = 25$/port = 2525/; s/^max_size = .*/max_size = 20971520/; s/^debug/#debug/' $file
echo 'log_file = /var/log/courier.log' >> $file
chmod 640 $file
