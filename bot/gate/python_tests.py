"""Read the tests and assertions of a Python test file from its syntax tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

CANNOT_FAIL, ITSELF, NOT_RUN = "that cannot fail", "of a thing against itself", "that no run reaches"
"""Why an assertion proves nothing, as a clause after "assertion"."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Scope = _Function | ast.ClassDef
_ASSERTS = re.compile(r"(?:\w+\.)*(?:assert\w*|fail|raises|warns|deprecated_call|\w*match_lines\w*)")
# Functions of other files that may assert something: a test that calls one is not said to assert nothing.
_MAY_ASSERT = re.compile(r"(?:\w+\.)*_?(?:check|verify|expect|ensure|validate|compare|should|must|run)\w*")
_SKIPS = re.compile(
    r"(?:\w+\.)*mark\.(?:skip|skipif|xfail)|(?:\w+\.)*\w+\.skipTest"
    r"|(?:pytest|unittest)\.(?:skip|skipif|xfail|importorskip|skipIf|skipUnless|expectedFailure|SkipTest)"
)
_SWITCHES = {"collect_ignore", "collect_ignore_glob"}
_SAME_HOLDS = (ast.Eq, ast.Is, ast.LtE, ast.GtE)
_SAME_NAMES = re.compile(
    r"assert_?(?:equals?|is|almost_?equals?|allclose|array_equal|(?:list|dict|set|tuple|sequence)equal)",
    re.IGNORECASE,
)
_SWALLOWED = "whose failure is caught"


class Part(NamedTuple):
    """One part of a test file. `kind` is `assertion`, `test`, `case` (of a parametrised test), `skip`, `bare` (a
    test without an assertion) or the reason why an assertion proves nothing. `test` is the test that contains it; two
    parts of a kind with the same `key` are equal."""

    kind: str
    test: str
    key: str
    line: int


class Unreadable(ValueError):
    """A file that cannot be parsed."""


def parts_of_python(source: bytes, *, collected: bool) -> list[Part]:
    """`collected`: a test runner collects files of this name. Raises `Unreadable`."""
    try:
        return _Reader(ast.parse(source), collected).parts
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Unreadable from error


class _Reader:
    def __init__(self, tree: ast.Module, collected: bool) -> None:
        self._imported = dict(_imports(tree))
        self.parts: list[Part] = []
        self._scopes: dict[str, _Scope] = {}
        self._tests: set[str] = set()
        self._define(tree.body, "", collected)
        self._separate = set(map(id, self._scopes.values()))
        self._functions = {
            name: node for name, node in self._scopes.items() if not isinstance(node, ast.ClassDef)
        }
        self._calls = {name: _called(node) for name, node in self._functions.items()}
        self._helpers: set[str] = set()
        self._helpers = self._asserting()
        self._block(tree.body, "", "")
        for name, node in self._functions.items():
            self._block(node.body, name, "")
        self._marks(tree, "")
        self._bare()

    def _define(self, body: Sequence[ast.stmt], prefix: str, collected: bool) -> None:
        """Register the functions and classes by name: a later definition or deletion replaces an earlier one."""
        for node in body:
            for name in _rebound(node):
                self._scopes.pop(prefix + name, None)
                self._tests.discard(prefix + name)
            if isinstance(node, _Scope):
                name = prefix + node.name
                self._scopes[name] = node
                if isinstance(node, ast.ClassDef):
                    self._define(node.body, f"{name}.", collected and _is_collected(node))
                elif collected and node.name.startswith("test"):
                    self._tests.add(name)
            elif not (isinstance(node, ast.If) and _truth(node.test) is False):
                for inner in _blocks(node):
                    self._define(inner, prefix, collected)

    def _asserting(self) -> set[str]:
        """Return the names of this file's functions that assert something, directly or through others of them."""
        for name, node in self._functions.items():
            self._block(node.body, name, "")
        named = {name: f"self.{name.rpartition('.')[2]}" if "." in name else name for name in self._functions}
        helpers = {named[part.test] for part in self.parts if part.kind == "assertion"}
        self.parts.clear()
        while more := {
            one for name, one in named.items() if one not in helpers and self._calls[name] & helpers
        }:
            helpers |= more
        return helpers

    def _block(self, body: Sequence[ast.stmt], test: str, dead: str) -> None:
        """`dead` is the reason why assertions in this block prove nothing."""
        for node in body:
            self._statement(node, test, dead)
            if isinstance(node, ast.Return | ast.Raise | ast.Continue | ast.Break):
                dead = dead or NOT_RUN

    def _statement(self, node: ast.stmt, test: str, dead: str) -> None:
        if isinstance(node, _Scope):
            if id(node) not in self._separate:  # else it is read by itself
                unused = (
                    isinstance(node, _Function)
                    and not node.decorator_list
                    and node.name not in self._loaded(test)
                )
                self._block(node.body, test, dead or (NOT_RUN if unused else ""))
            return
        if isinstance(node, ast.Assert):
            self._add(node, test, dead or _empty_test(node.test), node.test)
        elif isinstance(node, ast.Raise) and node.exc and _dotted(node.exc).startswith("AssertionError"):
            self._add(node, test, dead, node.exc)
        for call in _calls(node):
            name = self._named(call.func)
            if _ASSERTS.fullmatch(name) or name in self._helpers:
                self._add(call, test, dead or _empty_call(name, call.args), call)
                for key in call.keywords:
                    if key.arg == "match":
                        self._add(call, test, dead, key.value)
        for inner, why in _inner(node):
            self._block(inner, test, dead or why)

    def _loaded(self, test: str) -> set[str]:
        """Return the names that a function uses."""
        nodes = ast.walk(self._functions[test]) if test else ()
        return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}

    def _add(self, node: ast.stmt | ast.expr, test: str, why: str, what: ast.expr) -> None:
        self.parts.append(Part(why or "assertion", test, ast.unparse(what), node.lineno))

    def _named(self, node: ast.AST) -> str:
        first, dot, rest = _dotted(node).partition(".")
        return self._imported.get(first, first) + dot + rest

    def _marks(self, node: ast.AST, test: str) -> None:
        """Add marks that skip tests, or leave them without a case."""
        if isinstance(node, _Scope):
            test = f"{test}.{node.name}" if test else node.name
        mark = ""
        if isinstance(node, ast.Attribute | ast.Name):
            mark = name if _SKIPS.fullmatch(name := self._named(node)) else ""
        elif isinstance(node, ast.Assign):
            names = {_dotted(target).rpartition(".")[2] for target in node.targets}
            off = "__test__" in names and _truth(node.value) is False
            mark = "switch" if off or names & _SWITCHES else ""
        elif isinstance(node, ast.Call) and _dotted(node.func).endswith("parametrize"):
            values = [*node.args[1:2], *(key.value for key in node.keywords if key.arg == "argvalues")]
            mark = "no case" if values and _is_empty(values[0]) else ""
            for case in values[0].elts if values and isinstance(values[0], ast.List | ast.Tuple) else ():
                self.parts.append(Part("case", test, ast.unparse(case), case.lineno))
        if mark:
            self.parts.append(Part("skip", test, f"{test} {mark}", getattr(node, "lineno", 1)))
        if not isinstance(node, ast.Attribute):
            for inner in ast.iter_child_nodes(node):
                self._marks(inner, test)
        elif not mark:
            self._marks(node.value, test)

    def _bare(self) -> None:
        proving = {part.test for part in self.parts if part.kind == "assertion"}
        for name in self._tests:
            line = self._functions[name].lineno
            self.parts.append(Part("test", name, name, line))
            if name not in proving and not any(map(_MAY_ASSERT.fullmatch, self._calls[name])):
                self.parts.append(Part("bare", name, name, line))


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield names imported from pytest and unittest, and what each refers to."""
    for node in ast.walk(tree):
        module = (node.module or "").partition(".")[0] if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
            if module in ("pytest", "unittest") or (
                isinstance(node, ast.Import) and alias.name in ("pytest", "unittest")
            ):
                yield alias.asname or alias.name, f"{module}.{alias.name}" if module else alias.name


def _is_collected(node: ast.ClassDef) -> bool:
    has_init = any(isinstance(inner, _Function) and inner.name == "__init__" for inner in node.body)
    return bool(node.bases) or (node.name.startswith("Test") and not has_init)


def _rebound(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement rebinds."""
    targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else ()
    for target in targets:
        for one in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
            if isinstance(one, ast.Name):
                yield one.id


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of a statement that is no definition."""
    for field in ("body", "orelse", "finalbody"):
        if inner := getattr(node, field, None):
            yield inner
    for holder in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield holder.body


def _inner(node: ast.stmt) -> Iterator[tuple[list[ast.stmt], str]]:
    """Yield the blocks of a statement, each with the reason why its assertions prove nothing."""
    first = ""
    never = isinstance(node, ast.If | ast.While) and _truth(node.test) is False
    if never or (isinstance(node, ast.For | ast.AsyncFor) and _is_empty(node.iter)):
        first = NOT_RUN
    elif isinstance(node, ast.Try | ast.TryStar) and any(map(_swallows, node.handlers)):
        first = _SWALLOWED
    elif isinstance(node, ast.With | ast.AsyncWith):
        calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
        caught = [call for call in calls if _dotted(call.func).rpartition(".")[2] == "suppress"]
        first = _SWALLOWED if any(_catches(one) for call in caught for one in call.args) else ""
    for number, block in enumerate(_blocks(node)):
        always = isinstance(node, ast.If) and number == 1 and _truth(node.test)
        yield block, first if not number else NOT_RUN if always else ""


def _catches(kind: ast.expr | None) -> bool:
    if isinstance(kind, ast.Tuple):
        return any(map(_catches, kind.elts))
    return kind is None or _dotted(kind) in ("Exception", "BaseException", "AssertionError")


def _swallows(handler: ast.ExceptHandler) -> bool:
    return _catches(handler.type) and all(
        isinstance(node, ast.Pass | ast.Continue | ast.Break)
        or (
            isinstance(node, ast.Return | ast.Expr)
            and (node.value is None or isinstance(node.value, ast.Constant))
        )
        for node in handler.body
    )


def _calls(node: ast.stmt) -> Iterator[ast.Call]:
    """Yield the calls of a statement itself, without those in its blocks."""
    ahead: list[ast.AST] = [
        one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr | ast.withitem)
    ]
    while ahead:
        one = ahead.pop()
        if isinstance(one, ast.Call):
            yield one
        ahead += [inner for inner in ast.iter_child_nodes(one) if not isinstance(inner, ast.stmt)]


def _called(node: _Function) -> set[str]:
    """Return the dotted names of all that a function calls."""
    return {_dotted(inner.func) for inner in ast.walk(node) if isinstance(inner, ast.Call)}


def _dotted(node: ast.AST) -> str:
    names: list[str] = []
    while isinstance(node, ast.Attribute | ast.Call):
        if isinstance(node, ast.Attribute):
            names.append(node.attr)
        node = node.value if isinstance(node, ast.Attribute) else node.func
    names.append(node.id if isinstance(node, ast.Name) else "_")
    return ".".join(reversed(names))


def _is_empty(node: ast.expr) -> bool:
    literal = isinstance(node, ast.List | ast.Tuple | ast.Set) and not node.elts
    return literal or (isinstance(node, ast.Dict) and not node.keys)


def _truth(node: ast.expr) -> bool | None:
    """Return the constant truth value of an expression; `None` if it depends on the program."""
    match node:
        case ast.Constant():
            return bool(node.value)
        case ast.List() | ast.Tuple() | ast.Set():
            return bool(node.elts)
        case ast.Lambda():
            return True
        case ast.UnaryOp(op=ast.Not()):
            inner = _truth(node.operand)
            return None if inner is None else not inner
        case ast.BoolOp():
            decisive = isinstance(node.op, ast.Or)
            each = [_truth(value) for value in node.values]
            return decisive if decisive in each else None if None in each else not decisive
        case ast.Compare(ops=[operator]) if isinstance(operator, _SAME_HOLDS):
            right = node.comparators[0]
            if isinstance(node.left, ast.Constant) and isinstance(right, ast.Constant):
                return node.left.value == right.value or None
    return None


def _empty_test(node: ast.expr) -> str:
    if _truth(node):
        return CANNOT_FAIL
    for one in node.values if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) else [node]:
        if isinstance(one, ast.Compare) and len(one.ops) == 1 and isinstance(one.ops[0], _SAME_HOLDS):
            # Two calls that return the same object test a cache.
            called = isinstance(one.ops[0], ast.Is) and any(
                isinstance(inner, ast.Call) for inner in ast.walk(one)
            )
            if _are_same(one.left, one.comparators[0]) and not called:
                return ITSELF
    return ""


def _empty_call(name: str, args: Sequence[ast.expr]) -> str:
    last = name.rpartition(".")[2].lower().replace("_", "")
    if not args:
        return ""
    if (last == "asserttrue" and _truth(args[0])) or (last == "assertfalse" and _truth(args[0]) is False):
        return CANNOT_FAIL
    if last == "asserttrue":
        return _empty_test(args[0])
    return ITSELF if len(args) > 1 and _SAME_NAMES.fullmatch(last) and _are_same(args[0], args[1]) else ""


def _are_same(one: ast.expr, other: ast.expr) -> bool:
    return ast.dump(one) == ast.dump(other)
