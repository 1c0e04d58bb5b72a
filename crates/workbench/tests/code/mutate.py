"""Changes programs by rule. Reads a JSON list of sources; prints for each a JSON list of [rule, changed source]."""

import ast
import json
import sys

SWAPPED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
           ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
           ast.And: ast.Or, ast.Or: ast.And, ast.In: ast.NotIn, ast.NotIn: ast.In}


def returns_nothing(node):
    if isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        node.value = ast.Constant(None)
        return True


def is_off_by_one(node):
    if isinstance(node, ast.Constant) and type(node.value) is int:
        node.value += 1
        return True


def swaps_an_operator(node):
    if isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in SWAPPED:
        node.op = SWAPPED[type(node.op)]()
        return True
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        node.ops[0] = SWAPPED[type(node.ops[0])]()
        return True


def changed(source):
    results = []
    for rule in (returns_nothing, is_off_by_one, swaps_an_operator):
        tree = ast.parse(source)
        if any(rule(node) for node in ast.walk(tree)):
            results.append([rule.__name__, ast.unparse(ast.fix_missing_locations(tree))])
    return results


print(json.dumps([changed(source) for source in json.load(sys.stdin)]))
