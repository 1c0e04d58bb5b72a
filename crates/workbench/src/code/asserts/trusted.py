"""Splits assert statements into calls that a submission has to answer and a comparison that it never sees, and makes the
comparison. It runs where no submission ever ran.

In `assert sorted(f([2, 1])) == [1, 2]` the call is `f([2, 1])`; `sorted(...)` and what is expected stay here. What belongs to the
submission is every name that is neither Python's own, nor a module of the standard library, nor made by the set-up code alone."""

import ast
import builtins
import collections
import datetime
import decimal
import fractions
import importlib
import json
import resource
import signal
import sys

MEMORY_BYTES = 512 << 20
SECONDS_PER_COMPARISON = 2
# What an answer may hold, so that going through it cannot hold up the judge: C code is not interrupted by the alarm.
HASHED_ALIKE_MAX = 1_000
RANGE_MAX = 10_000_000
EXPONENT_MAX = 5_000


class DoesNotFit(Exception):
    """An assert that cannot be split: it has to run whole beside the submission."""


class Opaque:
    """Something that a submission returned and that is no plain data. Equal to nothing but itself."""


def loaded(node):
    return {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load)}


def bound(node):
    """Names that a statement makes."""
    names = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            names.add(part.id)
        elif isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(part.name)
        elif isinstance(part, (ast.Import, ast.ImportFrom)):
            names.update((alias.asname or alias.name).split(".")[0] for alias in part.names)
    return names


def top_level(source):
    """Names that the reference solution makes, and those of them that are functions or classes."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return set(), set()
    made = [node for node in tree.body if not isinstance(node, (ast.Import, ast.ImportFrom))]
    defined = {node.name for node in made if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}
    return set().union(*map(bound, made)) if made else set(), defined


class Names:
    """Who owns which name: Python, the set-up, or the submission."""

    def __init__(self, setup, entry, solution):
        self.submitted, self.defined = top_level(solution)
        if entry:
            self.submitted.add(entry)
            self.defined.add(entry)
        self.trusted = set(dir(builtins)) - self.submitted
        self.made, self.tainted, self.setup = set(), set(self.submitted), []
        # Functions of the set-up that are the submission's all the same, since they call it: what they say is not to be believed.
        self.helpers = set()
        functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        for statement in ast.parse(setup).body:
            makes, needs = bound(statement), loaded(statement)
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                ours = all(name.split(".")[0] in sys.stdlib_module_names for name in imported(statement))
            else:
                inside = {part.arg for part in ast.walk(statement) if isinstance(part, ast.arg)} | makes
                ours = not needs - inside - self.trusted and not needs & self.tainted
            if ours:
                self.trusted |= makes
                self.made |= makes
                self.tainted -= makes
                self.setup.append(statement)
                continue
            # What such a statement names may have been changed by the submission.
            touched = makes | (needs - set(dir(builtins)) - sys.stdlib_module_names)
            self.trusted -= touched
            self.tainted |= touched
            if isinstance(statement, functions):
                self.helpers.add(statement.name)
            self.helpers |= {made.name for made in self.setup if isinstance(made, functions)} & touched


def imported(statement):
    if isinstance(statement, ast.ImportFrom):
        return [statement.module or "."]
    return [alias.name for alias in statement.names]


def modules_of(node, names):
    """Modules of the standard library that an expression uses by their own names."""
    roots = {part.value.id for part in ast.walk(node) if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name)}
    return (roots & sys.stdlib_module_names) - names.made - names.tainted


class Split(ast.NodeTransformer):
    """Takes the calls of the submission out of an expression and puts names in their places."""

    def __init__(self, names, modules):
        self.names, self.trusted, self.calls, self.inner = names, names.trusted | modules, [], []

    def visit(self, node):
        if isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)):
            raise DoesNotFit
        if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            arguments = {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}
            self.inner.append(arguments | bound(node))
            result = self.generic_visit(node)
            self.inner.pop()
            return result
        if isinstance(node, (ast.Call, ast.Attribute, ast.Name)) and isinstance(getattr(node, "ctx", None), (ast.Load, type(None))):
            name = root(node)
            inside = set().union(*self.inner)
            if name is not None and name not in inside and name not in self.trusted:
                return self.take(node, name, inside)
        return self.generic_visit(node)

    def take(self, node, name, inside):
        names = self.names
        if loaded(node) & inside or name in names.helpers:
            raise DoesNotFit
        if isinstance(node, ast.Name) and (name in names.defined or name not in names.tainted):
            raise DoesNotFit
        self.calls.append(ast.unparse(node))
        return ast.copy_location(ast.Name(f"__answer_{len(self.calls) - 1}", ast.Load()), node)


def root(node):
    """The name that a chain of calls, attributes and subscripts begins with."""
    while isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def split(source, names):
    """Calls, the modules and the code of the comparison; DoesNotFit where it has to run whole."""
    tree = ast.parse(source)
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Assert):
        raise DoesNotFit
    test = tree.body[0].test
    modules = modules_of(test, names)
    splitter = Split(names, modules)
    test = splitter.visit(test)
    if not splitter.calls:
        raise DoesNotFit
    expression = ast.fix_missing_locations(ast.Expression(test))
    return splitter.calls, modules, compile(expression, "comparison", "eval", dont_inherit=True)


def faults(asserts, setup, entry):
    """For each assert, why it checks nothing; None for a sound one."""
    helpers = ast.parse(setup)
    helped = any(isinstance(node, ast.Assert) for node in ast.walk(helpers))
    words, called = [], loaded(helpers)
    for source in asserts:
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError) as error:
            words.append(f"is no Python: {error}")
            continue
        called |= loaded(tree)
        tests = [node.test for node in ast.walk(tree) if isinstance(node, ast.Assert)]
        if not tests and not helped:
            words.append("asserts nothing: begin it with `assert`")
        elif any(isinstance(test, ast.Constant) for test in tests):
            words.append("checks nothing: let it compare what the submission returns")
        elif any(isinstance(test, ast.Tuple) and test.elts for test in tests):
            words.append("always holds, since it asserts a tuple: leave out the parentheses around it")
        else:
            words.append(None)
    if entry and entry not in called:
        words = [word or f"does not call the entry `{entry}`, and no other does: call it" for word in words]
    return words


def distinct(items):
    """The items; refuses many that hash alike, which honest sets and dictionaries never hold and which take quadratic time."""
    hashes = sorted(hash(item) for item in items)
    if sum(a == b for a, b in zip(hashes, hashes[1:])) > HASHED_ALIKE_MAX:
        raise ValueError("keys that hash alike")
    return items


def decoded(value):
    if value is None or value is True or value is False:
        return value
    tag, *rest = value
    first = rest[0]
    many = lambda items: [decoded(item) for item in items]
    if tag == "str":
        return str(first)
    if tag == "int":
        return int(first, 16)
    if tag == "float":
        return float.fromhex(first)
    if tag == "complex":
        return complex(float.fromhex(first), float.fromhex(rest[1]))
    if tag in ("bytes", "bytearray"):
        return getattr(builtins, tag).fromhex(first)
    if tag in ("list", "tuple"):
        return getattr(builtins, tag)(many(first))
    if tag in ("set", "frozenset"):
        return getattr(builtins, tag)(distinct(many(first)))
    if tag == "iterator":
        return iter(many(first))
    if tag in ("dict", "OrderedDict", "Counter", "defaultdict"):
        pairs = [(decoded(key), decoded(item)) for key, item in first]
        distinct([key for key, _ in pairs])
        if tag == "Counter":
            return collections.Counter(dict(pairs))
        if tag == "defaultdict":
            return collections.defaultdict(None, pairs)
        return collections.OrderedDict(pairs) if tag == "OrderedDict" else dict(pairs)
    if tag == "deque":
        return collections.deque(many(rest[1]), first)
    if tag == "range":
        numbers = range(int(first, 16), int(rest[1], 16), int(rest[2], 16))
        if len(numbers) > RANGE_MAX:
            raise ValueError("a range that takes too long to go through")
        return numbers
    if tag == "Fraction":
        return fractions.Fraction(int(first, 16), int(rest[1], 16))
    if tag == "Decimal":
        number = decimal.Decimal(str(first))
        if number.is_finite() and abs(number.adjusted()) > EXPONENT_MAX:
            raise ValueError("a number that takes too long to write out")
        return number
    if tag in ("date", "datetime", "time"):
        return getattr(datetime, tag).fromisoformat(first)
    if tag == "timedelta":
        return datetime.timedelta(first, rest[1], rest[2])
    if tag == "opaque":
        return Opaque()
    raise ValueError("no value of a known kind")


def compare(code, modules, names, said):
    """`accepted`, or why not."""
    def over(*_):
        raise TimeoutError("the comparison took too long")

    signal.signal(signal.SIGALRM, over)
    signal.alarm(SECONDS_PER_COMPARISON)
    try:
        place = {name: importlib.import_module(name) for name in modules}
        for statement in names.setup:
            exec(compile(ast.Module([statement], []), "setup", "exec", dont_inherit=True), place)
        try:
            answers = [decoded(value) for value in json.loads(said)]
        except Exception as error:
            return f"the answer cannot be read: {type(error).__name__}"
        place.update({f"__answer_{number}": answer for number, answer in enumerate(answers)})
        if eval(code, place):
            return "accepted"
        return "returned " + ", ".join(shown(answer) for answer in answers)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]
    finally:
        signal.alarm(0)


def shown(answer):
    try:
        text = ascii(answer)
    except Exception:
        text = type(answer).__name__
    return text if len(text) <= 200 else text[:200] + "..."


def main():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    order = json.loads(sys.stdin.buffer.read())
    if order.get("faults"):
        print(json.dumps(faults(order["asserts"], order["setup"], order["entry"])))
        return
    names = Names(order["setup"], order["entry"], order["solution"])
    results = []
    for number, source in enumerate(order["asserts"]):
        try:
            calls, modules, code = split(source, names)
        except (DoesNotFit, SyntaxError):
            results.append(None)
            continue
        said = order["answers"][number] if order["answers"] is not None else None
        if order["answers"] is None:
            results.append(calls)
        else:
            results.append("no answer" if said is None else compare(code, modules, names, said))
    print(json.dumps(results))


main()
