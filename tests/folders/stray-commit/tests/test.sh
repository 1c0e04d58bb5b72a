#!/bin/bash
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' GIT_CONFIG_KEY_1=core.fsmonitor GIT_CONFIG_VALUE_1=false
cd /srv/site || { echo 0 > /logs/verifier/reward.txt; exit; }
found=$(
  git log --format='%an %s' main
  echo --
  git log --format='%an %s' dark
  echo --
  git show dark:style.css dark:dark.css
  git show main:style.css main:index.html
  git symbolic-ref HEAD
  git status --porcelain
)
expected='rae Fix the footer
rae Begin
--
kim Try a dark theme
rae Silver links
rae Begin
--
body { background: black; color: white }
a { color: silver }
body { color: black }
<h1>Site</h1>
<footer>2026</footer>
refs/heads/main'
if [ "$found" = "$expected" ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
