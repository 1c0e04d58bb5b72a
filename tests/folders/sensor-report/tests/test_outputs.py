"""What the report has to say."""
import json
import math
from pathlib import Path

REPORT = Path("/app/report.json")
EXPECTED = {
    "roof": {"count": 2, "mean": 20.75, "faulty": 2},
    "cellar": {"count": 3, "mean": 9.35, "faulty": 1},
    "yard": {"count": 2, "mean": -36.17, "faulty": 1},
}


def test_sensors():
    assert set(json.loads(REPORT.read_text())) == set(EXPECTED)


def test_figures():
    report = json.loads(REPORT.read_text())
    for sensor, row in EXPECTED.items():
        assert report[sensor]["count"] == row["count"]
        assert report[sensor]["faulty"] == row["faulty"]
        assert math.isclose(report[sensor]["mean"], row["mean"], abs_tol=0.001)
