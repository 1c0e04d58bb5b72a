#!/bin/bash
# The tests lie in /tests, which the agent never sees. The reward is a number from 0 to 1.
mkdir -p /logs/verifier
if python3 /tests/test_top.py; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
