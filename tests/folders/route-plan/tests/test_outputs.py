"""Every way is one along roads, as fast as can be, with the fewest stops."""
import json
from pathlib import Path

ROADS = """Arn Bay 7,Bay Cliff 5,Arn Cliff 12,Cliff Dell 4,Dell Elm 9,Bay Elm 18,Elm Ford 3,Arn Dell 17,Gate Hill 2,Ford Ivy 6,Ivy Arn 30,Dell Ivy 18"""
EXPECTED = [("Arn", "Ford", 28, 4), ("Bay", "Dell", 9, 3), None, ("Elm", "Elm", 0, 1), ("Ivy", "Arn", 30, 2), ("Cliff", "Arn", 12, 2)]


def test_plan():
    minutes = {}
    for road in ROADS.split(","):
        first, second, length = road.split()
        minutes[first, second] = minutes[second, first] = int(length)
    plan = json.loads(Path("/app/plan.json").read_text())
    assert len(plan) == len(EXPECTED)
    for found, expected in zip(plan, EXPECTED):
        if expected is None:
            assert found is None
            continue
        start, end, length, count = expected
        stops = found["stops"]
        assert (stops[0], stops[-1], len(stops)) == (start, end, count)
        assert found["minutes"] == length == sum(minutes[pair] for pair in zip(stops, stops[1:]))
