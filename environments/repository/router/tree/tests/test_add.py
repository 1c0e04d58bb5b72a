import pytest

from router import RouteError, Router


@pytest.mark.parametrize(
    "path",
    ["users", "/<float:x>", "/<x", "/<str:a>/<str:a>", "/<path:rest>/more", "/<A>"],
)
def test_malformed_paths_are_refused(path):
    with pytest.raises(RouteError):
        Router().add("GET", path, None)


def test_a_route_is_added_once():
    routes = Router()
    routes.add("GET", "/a", 1)
    routes.add("POST", "/a", 2)
    with pytest.raises(RouteError):
        routes.add("GET", "/a/", 3)
