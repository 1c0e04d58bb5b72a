import collections
import pathlib
import sys

# The copy beside the tests, since the agent may have changed the one in /app.
lines = pathlib.Path("/tests/access.log").read_text().splitlines()
address, count = collections.Counter(line.split(" ")[0] for line in lines).most_common(1)[0]
found = pathlib.Path("/app/top.txt")
sys.exit(0 if found.is_file() and found.read_text().split() == [address, str(count)] else 1)
