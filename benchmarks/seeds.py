"""Errors put into real code: half of them mutations of lines that are there, half new code with a mistake in it."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

_Node = TypeVar("_Node", bound=ast.AST)

PYTHON_PLANTED = (
    "def seeded_{n}(value: int) -> str:\n    return value\n",
    "def seeded_{n}(value: int) -> int:\n    return len(value)\n",
    "def seeded_{n}(value: str) -> str:\n    return value.no_such_method()\n",
    "def seeded_{n}() -> int:\n    return not_defined_anywhere_{n}\n",
    "def seeded_{n}(value: int) -> int:\n    return seeded_{n}()\n",
    "def seeded_{n}(value: int) -> int:\n    return seeded_{n}(value, value)\n",
    "def seeded_{n}(value: int) -> int:\n    return seeded_{n}(value, extra=1)\n",
    "def seeded_{n}(value: int) -> str:\n    return value + 'text'\n",
    "def seeded_{n}(value: int) -> int:\n    for each in value:\n        return each\n    return 0\n",
    "def seeded_{n}(value: int) -> object:\n    return value[0]\n",
    "def seeded_{n}() -> None:\n    from json import no_such_name_{n}\n\n    no_such_name_{n}()\n",
    "def seeded_{n}() -> None:\n    value: int = 'text'\n    print(value)\n",
)
TYPESCRIPT_PLANTED = (
    "export function seeded{n}(value: number): string {{\n  return value;\n}}\n",
    "export function seeded{n}(value: number): number {{\n  return parseInt(value);\n}}\n",
    "export function seeded{n}(value: string): string {{\n  return value.noSuchMethod();\n}}\n",
    "export function seeded{n}(): number {{\n  return notDefinedAnywhere{n};\n}}\n",
    "export function seeded{n}(value: number): number {{\n  return seeded{n}();\n}}\n",
    "export function seeded{n}(value: number): number {{\n  return seeded{n}(value, value);\n}}\n",
    "export const seeded{n}: {{ a: number }} = {{ a: 1, b: 2 }};\n",
    "export const seeded{n}: number[] = ['text'];\n",
    "export function seeded{n}(value: string | null): number {{\n  return value.length;\n}}\n",
    "export function seeded{n}(value: number): number {{\n  for (const each of value) return each;\n  return 0;\n}}\n",
    "export const seeded{n} = new NoSuchClass{n}();\n",
    "export function seeded{n}(): number {{\n  const value = 1;\n  value = 2;\n  return value;\n}}\n",
)
PLANTED_SHARE = 12
_TOP = {
    "python": re.compile(r"def \w|class \w|@\w"),
    "typescript": re.compile(r"(?:export |async )*(?:function|const|class|interface|type) \w"),
}
EACH = 20
"""Errors a repository: that many planted, the rest mutations."""


@dataclass(frozen=True)
class Seed:
    """`kind` in a word; of the file after it the lines from `first` to `last` are the error's."""

    path: str
    kind: str
    first: int
    last: int
    text: str


def seeds(root: Path, paths: Sequence[str], language: str, chance: random.Random) -> list[Seed]:
    """`EACH` errors in as many files, fewer where there are not so many files that fit."""
    found: list[Seed] = []
    waiting = sorted(paths)
    chance.shuffle(waiting)
    planted = PYTHON_PLANTED if language == "python" else TYPESCRIPT_PLANTED
    mutate = MUTATIONS[language]
    for path in waiting:
        n = len(found)
        if n == EACH:
            break
        text = (root / path).read_text(errors="replace")
        if n < PLANTED_SHARE:
            seed = _planted(path, text, planted[n].format(n=n), language, chance)
        else:
            seed = mutate[n % len(mutate)](path, text, chance)
        if seed is not None:
            found.append(seed)
    return found


def _planted(path: str, text: str, code: str, language: str, chance: random.Random) -> Seed | None:
    """Between two statements of the top level, so that what follows moves."""
    lines = text.split("\n")
    places = [
        at for at in range(1, len(lines)) if not lines[at - 1].strip() and _TOP[language].match(lines[at])
    ]
    chance.shuffle(places)
    if language == "python":  # the blank line may lie within a string
        places = [at for at in places[:5] if _parses("\n".join(lines[:at]))]
    if len(lines) < 15 or not places:
        return None
    at = places[0]
    new = ["", *code.rstrip("\n").split("\n"), ""]
    return Seed(path, "planted", at + 1, at + len(new), "\n".join([*lines[:at], *new, *lines[at:]]))


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def _misspelt_name(path: str, text: str, chance: random.Random) -> Seed | None:
    """A name that is read somewhere in a function of a Python file gets another letter."""
    names = [
        node for node in _nodes(text, ast.Name) if isinstance(node.ctx, ast.Load) and node.col_offset > 3
    ]
    return _respelt(path, text, chance, [(node.lineno, node.id) for node in names])


def _respelt(path: str, text: str, chance: random.Random, places: Sequence[tuple[int, str]]) -> Seed | None:
    lines = text.split("\n")
    fit = [(line, name) for line, name in places if len(re.findall(rf"\b{name}\b", lines[line - 1])) == 1]
    if not fit:
        return None
    line, name = chance.choice(fit)
    lines[line - 1] = re.sub(rf"\b{name}\b", f"{name}_x", lines[line - 1])
    return Seed(path, "misspelt name", line, line, "\n".join(lines))


def _lost_import(path: str, text: str, chance: random.Random) -> Seed | None:
    """An import that is used is gone. The error is wherever the name is used."""
    fit = []
    for node in _nodes(text, ast.Import):
        name = (node.names[0].asname or node.names[0].name).split(".")[0]
        uses = sum(each.id == name for each in _nodes(text, ast.Name))
        alone = len(node.names) == 1 and node.col_offset == 0 and node.lineno == node.end_lineno
        imported = sum(
            name in ast.dump(each) for kind in (ast.Import, ast.ImportFrom) for each in _nodes(text, kind)
        )
        if alone and uses and imported == 1:
            fit.append(node.lineno)
    if not fit:
        return None
    lines = text.split("\n")
    line = chance.choice(fit)
    del lines[line - 1]
    return Seed(path, "lost import", 1, len(lines), "\n".join(lines))


def _broken_python(path: str, text: str, chance: random.Random) -> Seed | None:
    return _broken(
        path, text, chance, r"^\s*(?:def|if|for|class|while)\b.*:\s*$", lambda line: line.rstrip()[:-1]
    )


def _broken_typescript(path: str, text: str, chance: random.Random) -> Seed | None:
    return _broken(
        path, text, chance, r"^\s*(?:if|for|while) \(.*\) \{\s*$", lambda line: line.replace("(", "", 1)
    )


def _broken(
    path: str, text: str, chance: random.Random, sign: str, edit: Callable[[str], str]
) -> Seed | None:
    """A line that is no statement any more. What follows may be taken to belong to it."""
    lines = text.split("\n")
    fit = [at for at, line in enumerate(lines) if re.match(sign, line)]
    if not fit:
        return None
    at = chance.choice(fit)
    lines[at] = edit(lines[at])
    return Seed(path, "syntax", at + 1, len(lines), "\n".join(lines))


def _renamed_constant(path: str, text: str, chance: random.Random) -> Seed | None:
    """A constant is called otherwise where it is made, and by its old name where it is used."""
    names = [
        name for name in re.findall(r"\bconst (\w+) =", text) if len(re.findall(rf"\b{name}\b", text)) > 1
    ]
    fit = [
        name
        for name in names
        if text.count(f"const {name} =") == 1 and not re.search(rf"[.{{,] *{name}\b", text)
    ]
    if not fit:
        return None
    name = chance.choice(fit)
    new = text.replace(f"const {name} =", f"const {name}Renamed =")
    return Seed(path, "renamed constant", 1, new.count("\n") + 1, new)


def _misspelt_import(path: str, text: str, chance: random.Random) -> Seed | None:
    """What is imported is not what the other file exports."""
    fit = list(re.finditer(r'^import \{ (\w+)( \}|,)[^;]* from "\.', text, re.MULTILINE))
    if not fit:
        return None
    one = chance.choice(fit)
    new = f"{text[: one.start(1)]}{one[1]}Misspelt{text[one.end(1) :]}"
    return Seed(path, "misspelt import", 1, new.count("\n") + 1, new)


def _nodes(text: str, kind: type[_Node]) -> Iterator[_Node]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    yield from (node for node in ast.walk(tree) if isinstance(node, kind))


MUTATIONS = {
    "python": (_misspelt_name, _lost_import, _misspelt_name, _broken_python),
    "typescript": (_renamed_constant, _misspelt_import, _renamed_constant, _broken_typescript),
}
