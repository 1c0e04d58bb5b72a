"""Server and schema agree on bodies: whatever the published OpenAPI document forbids is refused with a 4xx, on every route with a JSON
body, in every field at every depth. Each body is a good one with one thing changed: a wrong type, null, a number or a length out of
range, a word that is none of a list, a member too many, too few or twice."""

import json
import os

from harness import FOLDER, Server, expect, main, new_id

# Longer than any text whose length the document bounds, but for those that are megabytes.
TEXT_MAX = 300_000
DEPTH_MAX = 6
# What a body that does not fit is answered. Another refusal would say that the body was looked at and taken.
REFUSED = (400, 413, 422)
# Good bodies that are refused for what they name: here nothing is registered, and nothing has to be proven.
UNMET = ("/v1/worker/jobs/{id}/policies", "/v1/environments/{family}/{name}/proof")
# What a JSON Schema type takes besides its own name.
KINDS = {"string": "a", "integer": 1, "number": 0.5, "boolean": True, "array": [], "object": {}, "null": None}


class Document:
    def __init__(self):
        with open(os.path.join(FOLDER, "openapi", "openapi.json")) as file:
            self.whole = json.load(file)

    def plain(self, schema, value=None):
        """A schema without references on top. Of several forms, the one whose members the value has; None where no value tells."""
        while "$ref" in schema:
            schema = self.whole["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        for word in ("oneOf", "anyOf"):
            if word in schema:
                real = [choice for choice in schema[word] if choice.get("type") != "null"]
                if len(real) != 1:
                    forms = [self.plain(choice) or {} for choice in real]
                    fits = lambda form: isinstance(value, dict) and set(form.get("required", [])) <= set(value) <= set(form.get("properties", {}))
                    return next(filter(fits, forms), None)
                return {**self.plain(real[0]), "nullable": len(real) < len(schema[word])} if self.plain(real[0]) else None
        return None if "allOf" in schema else schema

    def bodies(self):
        """Every route with a JSON body: method, path, schema."""
        for path, item in self.whole["paths"].items():
            for method, operation in item.items():
                content = operation.get("requestBody", {}).get("content", {})
                if "application/json" in content:
                    yield method.upper(), path, content["application/json"]["schema"]


def types(schema):
    found = schema.get("type")
    found = set(found if isinstance(found, list) else [found] if found else KINDS)
    if "number" in found:
        found.add("integer")
    return found | ({"null"} if schema.get("nullable") else set())


def wrong(document, schema, value, depth=0):
    """Values that the schema forbids: pairs of what is wrong and the value."""
    schema = document.plain(schema, value)
    if schema is None or depth > DEPTH_MAX:
        return
    allowed = types(schema)
    if isinstance(value, dict) and "object" in allowed and "properties" not in schema:
        yield "a member twice in an object that is free in form", Twice({**value, "a": 1}, "a")
        yield "a member twice further down", {**value, "a": [Twice({"b": 1}, "b")]}
    if "const" not in schema:
        for kind, other in KINDS.items():
            if kind not in allowed and not (kind == "integer" and "number" in allowed):
                yield f"{kind} in place of {'/'.join(sorted(allowed))}", other
    if "enum" in schema:
        yield "a word that is none of the list", "no such word"
    if "integer" in allowed and "number" not in allowed:
        yield "a fraction", 1.5
    if "minimum" in schema:
        yield "a number below the minimum", schema["minimum"] - 1
    if "maximum" in schema:
        yield "a number above the maximum", schema["maximum"] + 1
    if schema.get("minLength", 0) > 0:
        yield "too short a text", "a" * (schema["minLength"] - 1)
    if schema.get("maxLength", TEXT_MAX) < TEXT_MAX:
        yield "too long a text", "a" * (schema["maxLength"] + 1)
    if "pattern" in schema:
        yield "a text outside of the pattern", "\u0000 \u202e"
    if schema.get("minItems", 0) > 0:
        yield "too short a list", []
    if isinstance(value, list) and value:
        if "maxItems" in schema:
            yield "too long a list", value[:1] * (schema["maxItems"] + 1)
        for what, item in wrong(document, schema.get("items", {}), value[0], depth + 1):
            yield f"[0]: {what}", [item, *value[1:]]
    properties = schema.get("properties", {})
    if isinstance(value, dict) and ("object" in allowed or properties):
        if schema.get("additionalProperties") is False:
            yield "a member too many", {**value, "no_such_member": 1}
        for name in schema.get("required", []):
            yield f"no {name}", {key: member for key, member in value.items() if key != name}
        for name, member in properties.items():
            plain = document.plain(member)
            inner = value.get(name, sample(document, member))
            for what, item in wrong(document, member, inner, depth + 1):
                yield f"{name}: {what}", {**value, name: item}
            if plain is not None and name in value:
                yield f"{name} twice", Twice(value, name)


class Twice:
    """An object with one member two times, which no dictionary can hold."""

    def __init__(self, value, name):
        self.members = [*value.items(), (name, value[name])]


def text_of(value):
    """JSON, with members that stand twice."""
    if isinstance(value, (Twice, dict)):
        members = value.members if isinstance(value, Twice) else value.items()
        return "{" + ", ".join(f"{json.dumps(name)}: {text_of(member)}" for name, member in members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(text_of, value)) + "]"
    return json.dumps(value)


def sample(document, schema, depth=0):
    """A value that the schema allows, as small as can be."""
    schema = document.plain(schema)
    if schema is None or depth > DEPTH_MAX:
        return None
    if "enum" in schema:
        return schema["enum"][0]
    allowed = types(schema)
    if "object" in allowed and schema.get("type") is not None and "properties" in schema:
        return {name: sample(document, schema["properties"][name], depth + 1) for name in schema.get("required", [])}
    if "array" in allowed and schema.get("type") is not None:
        item = sample(document, schema.get("items", {}), depth + 1)
        return [item] if item is not None else []
    if "integer" in allowed and schema.get("type") is not None:
        return schema.get("minimum", 0)
    if "string" in allowed and schema.get("type") is not None:
        return "a" * max(1, schema.get("minLength", 0))
    return None


class World:
    """Makes what calls need, anew for each call that uses it up."""

    def __init__(self, api):
        self.api = api

    def session(self):
        opened = self.api.post("/v1/sessions", {"environment": "bench/counter", "verify": "manual"})
        return opened

    def lease(self):
        self.api.post("/v1/jobs", {"kind": "check", "spec": {"environment": "bench/counter"}})
        body = {"worker": "w", "kinds": ["check"], "device": "cpu", "memory_bytes": 1, "wait_ms": 0}
        return self.api.post("/v1/worker/lease", body)

    def good(self, method, path):
        """A path that leads somewhere and a body that is good there; None for routes that are other people's protocols."""
        if path.startswith("/openenv/") or path.endswith("/mcp") or "/llm/" in path:
            return None
        if path == "/v1/upstreams/{name}":
            return "/v1/upstreams/a", {
                "dialect": "openai", "url": "http://127.0.0.1:9/v1", "key": "a", "models": {"a": "b"}, "extra": {"a": 1},
                "price": {"input_per_million": 1.0, "output_per_million": 1.0}, "budget": {"calls": 1, "tokens": 1, "cost": 1.0},
                "calls_at_once": 1, "silence_max_ms": 1_000,
            }
        if path == "/v1/sessions":
            return path, {
                "environment": "bench/counter", "task": {"split": "train", "index": 0}, "seed": 3, "config": {}, "count": 1,
                "limits": {"steps": 5, "calls": 5, "wall_ms": 60_000, "idle_ms": 60_000}, "verify": "manual",
                "observe": {"text_bytes": 16_000, "keep": "head", "blocks": ["a"]}, "record": "group", "metadata": {},
            }
        if path == "/v1/sessions:create":
            return path, {"items": [{"environment": "bench/counter"}]}
        if path.startswith("/v1/sessions:"):
            item = {"session": self.session()["id"]}
            return path, {"items": [{**item, "action": {"tool": "add", "arguments": {}}} if path.endswith("step") else item]}
        if path.startswith("/v1/sessions/{id}/"):
            opened = self.session()
            base = f"/v1/sessions/{opened['id']}/"
            call = path.rsplit("/", 1)[1]
            if call == "restore":
                return base + call, {"snapshot": self.api.post(base + "snapshots", {"name": "a"})["id"]}
            return base + call, {
                "step": {"seq": 1, "action": {"tool": "add", "arguments": {}}, "episode": opened["episode"], "observe": {"text_bytes": 100}, "meta": {}},
                "reset": {"task": {"split": "train", "index": 0}, "seed": 1},
                "finish": {"reason": "gave_up", "episode": opened["episode"]},
                "verify": {"wait_ms": 1_000, "probe": False},
                "fork": {"count": 1, "at_seq": 0, "randomness": "same", "allow_inexact": True},
                "snapshots": {"name": "a"},
            }[call]
        if path == "/v1/episodes/{id}/verify":
            opened = self.session()
            self.api.post(f"/v1/sessions/{opened['id']}/finish", {"reason": "gave_up"})
            return f"/v1/episodes/{opened['episode']}/verify", {"version": 1}
        if path == "/v1/runs":
            return path, {"id": new_id("run_"), "lease_ms": 60_000}
        if path == "/v1/keys":
            return path, {"name": "a", "scopes": ["sessions"], "expires_at": "2099-01-01T00:00:00Z"}
        if path == "/v1/jobs":
            return path, {
                "kind": "check", "spec": {"environment": "bench/counter"}, "priority": 0, "attempts_max": 1,
                "resources": {"device": "any", "memory_bytes": 1},
            }
        if path == "/v1/environments/{family}/{name}/proof":
            return "/v1/environments/bench/counter/proof", {"split": "train", "number": 0}
        if path == "/v1/worker/lease":
            return path, {"worker": "w", "kinds": ["serve"], "device": "cpu", "memory_bytes": 1, "wait_ms": 0}
        if path.startswith("/v1/worker/jobs/{id}/"):
            held = self.lease()
            base = f"/v1/worker/jobs/{held['job']['id']}/"
            call = path.rsplit("/", 1)[1]
            fence = {"fence": held["fence"]}
            bodies = {
                "events": {**fence, "number": 1, "events": [{"kind": "log", "data": {"level": "info", "message": "a"}}]},
                "heartbeat": {**fence, "progress": {"done": 1, "total": 2, "unit": "a", "message": "a", "remaining_ms": 1}},
                "finish": {**fence, "outcome": {"is": "succeeded", "result": {}}},
                "policies": {
                    **fence, "id": new_id("pol_"), "architecture": "mlp", "environments": ["bench/counter"], "metrics": {},
                    "artifacts": ["a"],
                },
            }
            return (base + call, bodies[call]) if call in bodies else None
        return None


def run(short):
    """Both forms are the same: every field once."""
    document, accepted, tried, routes, left = Document(), [], 0, 0, []
    with Server() as server:
        api = server.api()
        world = World(api)
        for method, path, schema in document.bodies():
            good = world.good(method, path)
            if good is None:
                left.append(path)
                continue
            routes += 1
            whole, body = good
            status, _, answer = api.raw(method, whole, body)
            if path not in UNMET:
                expect(200 <= status < 300, f"the good body of {path} answered {status}: {answer[:500]}")
            for what, bad in list(wrong(document, schema, body)):
                whole, _ = world.good(method, path)
                text = text_of(bad)
                status, _, answer = api.raw(method, whole, text.encode(), {"content-type": "application/json"})
                tried += 1
                refused = status in REFUSED
                if status == 200 and path.startswith("/v1/sessions:") and b'"ok"' not in answer:
                    refused = True
                if not refused:
                    accepted.append(f"{method} {path}: {what}: {status} {text[:160]}")
    for line in accepted:
        print(line)
    expect(not accepted, f"{len(accepted)} of {tried} bodies that the document forbids were not refused: see above")
    return f"{tried} bodies on {routes} routes, each forbidden by the document and refused; not tried: {', '.join(left)}"


if __name__ == "__main__":
    main(run)
