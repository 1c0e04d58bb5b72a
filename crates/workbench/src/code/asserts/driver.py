"""Runs a submission and tells what its calls returned, as data. It runs beside the submission and is not trusted: whatever it says
is taken for the submission's answer and compared elsewhere, where the submission is not. It is told calls, never what is expected."""

import json
import os
import sys
import types

NODES_MAX = 200_000
DEPTH_MAX = 200


def encoded(value, left=None, depth=0):
    """The value as JSON of tagged lists; what is no plain data becomes `["opaque", type]`."""
    left = left if left is not None else [NODES_MAX]
    left[0] -= 1
    if left[0] < 0 or depth > DEPTH_MAX:
        raise OverflowError("the value is too large to be compared")
    inner = lambda item: encoded(item, left, depth + 1)
    if value is None or value is True or value is False:
        return value
    if value is NotImplemented or value is Ellipsis:
        return ["opaque", repr(value)]
    kind = type(value)
    name, module = kind.__name__, kind.__module__
    if isinstance(value, str):
        return ["str", str.__str__(value)]
    if isinstance(value, int):
        return ["int", hex(int.__index__(value))]
    if isinstance(value, float):
        return ["float", float.hex(float.__float__(value))]
    if isinstance(value, complex):
        return ["complex", float.hex(value.real), float.hex(value.imag)]
    if isinstance(value, (bytes, bytearray)):
        return ["bytearray" if isinstance(value, bytearray) else "bytes", bytes(value).hex()]
    if isinstance(value, dict):
        tag = name if module == "collections" and name in ("OrderedDict", "Counter", "defaultdict") else "dict"
        return [tag, [[inner(key), inner(item)] for key, item in dict.items(value)]]
    for base in (list, tuple, set, frozenset):
        if isinstance(value, base):
            return [base.__name__, [inner(item) for item in base.__iter__(value)]]
    if module == "collections" and name == "deque":
        return ["deque", value.maxlen, [inner(item) for item in value]]
    if kind is range:
        return ["range", hex(value.start), hex(value.stop), hex(value.step)]
    if module == "fractions" and name == "Fraction":
        return ["Fraction", hex(value.numerator), hex(value.denominator)]
    if module in ("decimal", "_decimal") and name == "Decimal":
        return ["Decimal", str(value)]
    if module == "datetime" and name in ("date", "datetime", "time"):
        return [name, value.isoformat()]
    if module == "datetime" and name == "timedelta":
        return ["timedelta", value.days, value.seconds, value.microseconds]
    if name in ("dict_keys", "dict_items"):
        return ["set", [inner(item) for item in value]]
    if name == "dict_values" or (hasattr(kind, "__next__") and hasattr(kind, "__iter__")):
        return ["iterator", [inner(item) for item in value]]
    return ["opaque", name]


def main():
    order = json.loads(sys.stdin.buffer.read())
    nonce, dumps, write, leave = order["nonce"], json.dumps, os.write, os._exit
    channel = os.dup(1)
    quiet = os.open(os.devnull, os.O_RDWR)
    os.dup2(quiet, 0)
    os.dup2(quiet, 1)

    def answer(number, kind, said):
        line = (nonce + " " + str(number) + " " + kind + " " + dumps(said) + "\n").encode("ascii")
        while line:
            line = line[write(channel, line) :]

    def failed(number, kind, error):
        try:
            said = (type(error).__name__ + ": " + str(error))[:300]
        except BaseException:
            said = "an exception that cannot be told"
        answer(number, kind, said)

    questions = order["questions"]
    try:
        with open(order["source"], "rb") as file:
            submission = compile(file.read(), "main.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        for number, _ in enumerate(questions):
            failed(number, "build", error)
        leave(0)
    try:
        module = types.ModuleType("submission")
        sys.modules["submission"] = module
        names = module.__dict__
        exec(submission, names)
        exec(compile(order["setup"], "setup", "exec", dont_inherit=True), names)
    except BaseException as error:
        for number, _ in enumerate(questions):
            failed(number, "memory" if isinstance(error, MemoryError) else "raised", error)
        leave(0)
    for number, question in enumerate(questions):
        whole = question["whole"]
        try:
            if whole is not None:
                exec(compile(whole, "assert", "exec", dont_inherit=True), names)
                answer(number, "passed", None)
            else:
                values = [eval(compile(call, "call", "eval", dont_inherit=True), names) for call in question["calls"]]
                answer(number, "values", [encoded(value) for value in values])
        except MemoryError as error:
            failed(number, "memory", error)
        except BaseException as error:
            failed(number, "failed" if whole is not None and isinstance(error, AssertionError) else "raised", error)
    leave(0)


main()
