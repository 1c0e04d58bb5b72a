#!/bin/bash
cd /app
python3 - <<'END'
import heapq
import json

roads = {}
for line in open("roads.txt"):
    first, second, minutes = line.split()
    roads.setdefault(first, []).append((second, int(minutes)))
    roads.setdefault(second, []).append((first, int(minutes)))


def fastest(start, end):
    queue, done = [(0, 1, [start])], set()
    while queue:
        minutes, count, stops = heapq.heappop(queue)
        if stops[-1] == end:
            return {"minutes": minutes, "stops": stops}
        if stops[-1] in done:
            continue
        done.add(stops[-1])
        for place, more in roads.get(stops[-1], []):
            heapq.heappush(queue, (minutes + more, count + 1, [*stops, place]))
    return None


json.dump([fastest(*line.split()) for line in open("trips.txt")], open("plan.json", "w"))
END
