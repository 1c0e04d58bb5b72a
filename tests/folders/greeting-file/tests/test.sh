#!/bin/sh
if printf 'Hello, harbour!\n' | cmp -s - /app/greeting.txt && [ ! -h /app/greeting.txt ]; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
