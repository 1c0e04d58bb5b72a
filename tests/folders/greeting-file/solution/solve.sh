#!/bin/sh
echo 'Hello, harbour!' > /app/greeting.txt
