echo /tmp/none.so > /etc/ld.so.preload
