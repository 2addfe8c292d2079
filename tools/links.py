"""js/src/links.js: the built-in links for devices in JavaScript, as reticent.model.links has them.

Names and numbers are written as they are. `mean` and `slope` are translated: of each of these functions the lines that
run for one link, with `decay` and `tail` from numbers.js. What they may consist of is little, because results have to
be those of Python: variables of one letter, arithmetic, comparisons, abs, sqrt and pi."""

import ast
import inspect
import math
import textwrap
from collections.abc import Callable, Iterable

from reticent.model import links
from reticent.model.glm import largest_weight
from reticent.model.links import Link

HEAD = """// Written by `make generated` from packages/reticent/src/reticent/model/links.py, where the
// formulas are explained: change that.
import { decay, tail } from "./numbers.js";

"""
SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.USub: "-",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
NAMES = {"abs": "Math.abs", "math.sqrt": "Math.sqrt", "math.pi": "Math.PI", "decay": "decay", "tail": "tail"}


def text() -> str:
    return HEAD + "export const LINKS = {\n" + "".join(map(_entry, links.BUILT_IN.values())) + "};\n"


def _entry(link: Link) -> str:
    facts = {
        "bounded": str(link.bounded).lower(),
        "largest": _number(largest_weight(link)),
        "softness": _number(links.softness(link.code)),
        "mean": function(links.mean, link),
        "slope": function(links.slope, link),
    }
    return f"  {link.name}: {{\n" + "".join(f"    {name}: {value},\n" for name, value in facts.items()) + "  },\n"


def function(formula: Callable[..., float], link: Link) -> str:
    """`formula(code, z)` for that link, as a function of z."""
    (defined,) = ast.parse(textwrap.dedent(inspect.getsource(formula))).body
    assert isinstance(defined, ast.FunctionDef)
    known = {**formula.__globals__, "number": links.kind(link.code)}
    lines = list(_lines(defined.body, known))
    if len(lines) == 1:
        return f"(z) => {lines[0].removeprefix('return ').removesuffix(';')}"
    return "(z) => {\n" + "".join(f"      {line}\n" for line in lines) + "    }"


def _lines(body: Iterable[ast.stmt], known: dict[str, object]) -> Iterable[str]:
    """What is run where `number` is known: ends with what is returned."""
    for statement in body:
        match statement:
            case ast.Expr(value=ast.Constant()) | ast.Assign(targets=[ast.Name(id="number")]):
                continue  # the docstring, and what is known
            case ast.If(test=ast.Compare(left=ast.Name(id="number")) as test, body=inner, orelse=[]):
                if eval(ast.unparse(test), known):
                    yield from _lines(inner, known)
                    return
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield f"const {name} = {_expression(value)};"
            case ast.Return(value=ast.expr() as value):
                yield f"return {_expression(value)};"
                return
            case _:
                raise _unknown(statement)


def _expression(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=float() | int() as value):
            return _number(value)
        case ast.Name(id=name) if len(name) == 1:  # a variable
            return name
        case ast.Name() | ast.Attribute() if (name := ast.unparse(node)) in NAMES:
            return NAMES[name]
        case ast.Call(func=called, args=given, keywords=[]):
            return f"{_expression(called)}({', '.join(map(_expression, given))})"
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return f"-{_within(inner)}"
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in SIGNS:
            return f"{_within(left)} {SIGNS[type(sign)]} {_within(right)}"
        case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in SIGNS:
            return f"{_within(left)} {SIGNS[type(sign)]} {_within(right)}"
        case ast.IfExp(test=test, body=yes, orelse=no):
            return f"{_expression(test)} ? {_expression(yes)} : {_expression(no)}"
    raise _unknown(node)


def _within(node: ast.expr) -> str:
    """In brackets where it is not a single thing: the order of arithmetic is part of the result."""
    inner = _expression(node)
    return f"({inner})" if isinstance(node, ast.BinOp | ast.Compare | ast.IfExp | ast.UnaryOp) else inner


def _number(value: float) -> str:
    assert math.isfinite(value)
    return repr(value).removesuffix(".0")


def _unknown(node: ast.AST) -> ValueError:
    return ValueError(f"Expected a formula that JavaScript computes alike (tools/links.py), got {ast.unparse(node)}.")
