set -e
git init -q -b main /srv/site
cd /srv/site
git config user.name Rae
git config user.email rae@example.com
commit() {
  export GIT_AUTHOR_DATE="2026-02-0$1T08:00:00Z" GIT_COMMITTER_DATE="2026-02-0$1T08:00:00Z"
  git add -A
  git commit -qm "$2" --author "$3 <$3@example.com>"
}
echo '<h1>Site</h1>' > index.html
echo 'body { color: black }' > style.css
commit 1 'Begin' rae
git checkout -qb dark
echo 'a { color: silver }' > dark.css
commit 2 'Silver links' rae
git checkout -q main
echo '<footer>2026</footer>' >> index.html
commit 3 'Fix the footer' rae
echo 'body { background: black; color: white }' > style.css
commit 4 'Try a dark theme' kim
