"""Find ecosystems by name, and read commands with all of them."""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from posixpath import basename, dirname
from typing import cast

from bot.ecosystems.checker import Checker, Form, Names
from bot.ecosystems.language_server import Server
from bot.ecosystems.record import Ecosystem, Use, listed
from bot.ecosystems.script_names import is_other_name, use_of_name

Words = Sequence[str]

NAMES = listed("python; javascript; go; rust; jvm; ruby; php; dotnet; native; general")
"""The files beside this one, in the order of their checks."""

_VERSIONED = re.compile(r"(python|pip|py)[\d.]*")
_OPTION = re.compile(r"-|[A-Za-z_]\w*=|\d+[smh]?$")
_SCRIPT = re.compile(r"^[\w.][\w./-]*/[\w.-]+$|^[\w-]+\.(sh|bash|py|[cm]?js)$")
_MOST_OPTIONS = 5


@cache
def named(name: str) -> Ecosystem:
    """Import one ecosystem."""
    return cast("Ecosystem", import_module(f"bot.ecosystems.{name}").ECOSYSTEM)


def ecosystems() -> tuple[Ecosystem, ...]:
    return tuple(map(named, NAMES))


def ecosystems_of(paths: Iterable[str]) -> list[Ecosystem]:
    """Return the ecosystems with a source among `paths`."""
    known = list(paths)
    return [one for one in ecosystems() if any(path.endswith(one.suffixes) for path in known)]


def lock_tool(path: str) -> tuple[str, str]:
    """Return the command that writes a lock file anew, in its folder, and the preset of egress that it needs; empty if
    none is known."""
    name = basename(path)
    return next(((one.relock[name], one.egress) for one in ecosystems() if name in one.relock), ("", ""))


def servers() -> tuple[Server, ...]:
    return tuple(server for one in ecosystems() for server in one.servers)


def form(name: str) -> Form:
    """Return the reader of a checker's format. Raises `KeyError` for an unknown one."""
    return {key: read for one in ecosystems() for key, read in one.forms.items()}[name]


@cache
def checkers() -> tuple[Checker, ...]:
    """Return the checkers of whole projects in the order of execution and display."""
    return tuple(checker for one in ecosystems() for checker in one.checkers)


def checker_names() -> Names:
    return tuple(one.name for one in checkers())


def server_names() -> Names:
    return tuple(one.name for one in servers())


def checking(tmp: str) -> dict[str, str]:
    """Return the variables with which checkers download nothing and write in `tmp` alone."""
    return {name: text.replace("{tmp}", tmp) for one in ecosystems() for name, text in one.checking.items()}


def use_of(words: Words) -> Use | None:
    """Return what a command is for; `None` if that is unknown, or no check."""
    if "--version" in words[-1:]:
        return None
    name, use = _known(words)
    if name:
        return use
    # A script of the repository, such as `./ci/test.sh`, `python tools/run_tests.py` or `node test/index.js`.
    script = next((word for word in (*words[:2], *unwrapped(words)[:2]) if _SCRIPT.search(word)), "")
    named = basename(script).partition(".")[0]
    return use_of_name(basename(dirname(script)) if named in ("run", "index", "main") else named)


def ecosystem_of(words: Words) -> str:
    """Return the name of the ecosystem that a command belongs to, empty if unknown."""
    return _known(words)[0]


def _known(words: Words) -> tuple[str, Use | None]:
    """Return the ecosystem that knows a command, empty if none does, and its use."""
    # What `pdm run` begins may be a script.
    for read, line in ((_use_in, unwrapped(words)), (_use_by_name, _named_program(words))):
        for one in ecosystems() if line else ():
            known, use = read(one, line)
            if known:
                return one.name, use
    return "", None


def syncs(words: Words) -> bool:
    """Whether a command makes the packages of a folder those that its manifests name, and removes any other."""
    inner = unwrapped(words)
    for one in ecosystems():
        pairs = zip(("", *inner), inner, strict=False)
        plain = [word for before, word in pairs if word[0] != "-" and before not in one.values]
        if " ".join(plain) in one.syncs:
            return True
    return False


def unwrapped(words: Words) -> Names:
    """Return program and arguments without launchers such as `uv run`, `npx`, `bundle exec` and `python -m`. The
    program is without its folder and version."""
    remaining = _named_program(words)
    while launched := next((inner for one in ecosystems() if (inner := _launched(remaining, one))), None):
        remaining = _named_program(launched)
    return remaining


def _named_program(words: Words) -> Names:
    if not words:
        return ()
    program = basename(words[0])
    versioned = _VERSIONED.fullmatch(program)
    return (versioned[1] if versioned else program, *words[1:])


def _launched(words: Words, ecosystem: Ecosystem) -> list[str]:
    """Return the command that a launcher of `ecosystem` runs, empty if it is none. Options may stand in between."""
    for launcher in ecosystem.launchers:
        program, *rest = launcher.split()
        inner = list(words[1:]) if words[:1] == (program,) else []
        for word in rest:
            inner = inner[inner.index(word) + 1 :] if word in inner[:_MOST_OPTIONS] else []
        if inner:
            return _without_options(inner, ecosystem.values)
    return []


def _without_options(words: Words, values: Names) -> list[str]:
    remaining = list(words)
    while remaining and (_OPTION.match(remaining[0]) or remaining[0] in values):
        option = remaining.pop(0)
        if option == "--":
            break
        if option in values and remaining:
            remaining.pop(0)
    return remaining


def _use_in(ecosystem: Ecosystem, inner: Names) -> tuple[bool, Use | None]:
    """Return whether `ecosystem` knows the command, and its use."""
    known, use = _use_by_name(ecosystem, inner)
    if not known:
        # Of the keys that fit, the longest, then the one whose argument comes first.
        program, arguments = inner[0], inner[1:]
        keys = [f"{program} {first} {second}" for first in arguments[:1] for second in arguments[1:]]
        # And a task of Gradle's, `:core:test`.
        keys += [f"{program} {word}" for one in arguments for word in (one, one.rpartition(":")[2])]
        keys += [program]
        key = next((key for key in keys if key in ecosystem.uses), None)
        if key is None:
            return False, None
        use = ecosystem.uses[key]
    runs_none = use is Use.TESTS and ecosystem.runs_no_test and ecosystem.runs_no_test.search(" ".join(inner))
    return True, Use.BUILD if runs_none else use


def _use_by_name(ecosystem: Ecosystem, inner: Names) -> tuple[bool, Use | None]:
    """Return whether the command runs a script or target by its name, and the use of that."""
    line = re.sub(r"(?<=\w)( -[vq]+| --verbose| --quiet)+(?= )", "", " ".join(inner))
    for script in sorted(ecosystem.scripts, key=len, reverse=True):
        if line != script and not line.startswith(f"{script} "):
            continue
        words = _without_options(line[len(script) :].split(), ecosystem.values)
        names = [word for word in words if not re.match(r"[-+]|.*=|run$", word)]
        if not names:
            return True, ecosystem.uses.get(script, Use.BUILD)
        if f"{script} {names[0]}" in ecosystem.uses:
            break
        if is_other_name(names[0]):
            return True, None
        each = names if ecosystem.name == "general" else names[:1]  # behind a script are its arguments
        uses = (
            use_of_name(one) or use_of_name(one.partition(":")[0]) or ecosystem.uses.get(one) for one in each
        )
        use = max(filter(None, uses), default=ecosystem.uses.get(script))
        if use or script in ecosystem.uses:
            return True, None if use is Use.INSTALL else use
    return False, None
