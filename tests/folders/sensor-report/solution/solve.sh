#!/bin/bash
set -e
python3 - <<'END'
import csv
import json
import math

good, faulty = {}, {}
for row in csv.DictReader(open("/app/data/readings.csv")):
    try:
        value = float(row["celsius"])
    except ValueError:
        value = math.nan
    if -60 <= value <= 60:
        good.setdefault(row["sensor"], []).append(value)
    else:
        faulty[row["sensor"]] = faulty.get(row["sensor"], 0) + 1
report = {
    sensor: {"count": len(values), "mean": round(sum(values) / len(values), 2), "faulty": faulty.get(sensor, 0)}
    for sensor, values in good.items()
}
json.dump(report, open("/app/report.json", "w"))
END
