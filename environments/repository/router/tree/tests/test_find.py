import pytest

from router import MethodNotAllowed, NotFound, Router


@pytest.fixture
def routes():
    routes = Router()
    routes.add("GET", "/", "home")
    routes.add("GET", "/users", "users")
    routes.add("POST", "/users", "add user")
    routes.add("GET", "/users/<int:id>", "user")
    routes.add("GET", "/users/me", "myself")
    routes.add("GET", "/files/<path:name>", "file")
    return routes


def test_fixed_paths(routes):
    assert routes.find("GET", "/").handler == "home"
    assert routes.find("GET", "/users").handler == "users"
    assert routes.find("POST", "/users").handler == "add user"


def test_parameters_have_their_type(routes):
    match = routes.find("GET", "/users/42")
    assert match.handler == "user"
    assert match.parameters == {"id": 42}


def test_a_fixed_part_is_preferred(routes):
    match = routes.find("GET", "/users/me")
    assert match.handler == "myself"
    assert match.parameters == {}


def test_the_rest_of_a_path(routes):
    assert routes.find("GET", "/files/a/b/c.txt").parameters == {"name": "a/b/c.txt"}


def test_what_is_not_there(routes):
    with pytest.raises(NotFound):
        routes.find("GET", "/nothing")
    with pytest.raises(NotFound):
        routes.find("GET", "/users/seven")


def test_another_method(routes):
    with pytest.raises(MethodNotAllowed) as error:
        routes.find("DELETE", "/users")
    assert error.value.allowed == {"GET", "POST"}
