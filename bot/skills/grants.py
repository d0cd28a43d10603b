"""`allowed-tools`: what a skill pre-approves of what the policy would ask about, and for how long.

A grant answers for the person who is not there to be asked. What the policy denies stays denied, and so does writing:
the gate and the publishing job would ask again, and they know of no skill. It begins when the skill's text is put to
the model and ends when the model ends its turn, or loads another skill.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

Words = tuple[str, ...]

_READING = {"read": "view", "view": "view", "grep": "grep", "glob": "glob", "ls": "ls"}
_WRITING = frozenset({"edit", "multiedit", "write", "notebookedit", "patch"})
_SHELL = "bash"
_PIECE = re.compile(r"([A-Za-z_][\w-]*)(?:\((.*)\))?", re.DOTALL)
_SHOWN = 60


class Grant(NamedTuple):
    """`written` is the piece of `allowed-tools`. Of the shell, `words` are those that a command begins with, or
    consists of where `whole` is set; of a reading tool, `glob` says which paths, all where it is empty."""

    written: str
    tool: str
    words: Words = ()
    whole: bool = False
    glob: str = ""


class Grants(NamedTuple):
    """What was read: `given`, and why the other pieces give nothing."""

    given: tuple[Grant, ...]
    without: tuple[str, ...]


def read_grants(allowed: Sequence[str]) -> Grants:
    """Never raises: what is not understood grants nothing."""
    given: list[Grant] = []
    without: list[str] = []
    for piece in allowed:
        found = _read(piece)
        if isinstance(found, Grant):
            given.append(found)
        else:
            without.append(f"{piece[:_SHOWN]!a} grants nothing: {found}")
    return Grants(tuple(given), tuple(without))


def covering(grants: Sequence[Grant], tool: str, arguments: Mapping[str, Any], root: str) -> str:
    """The pieces that together cover the whole call, as they are written; empty where they do not."""
    mine = [grant for grant in grants if grant.tool == tool]
    if not mine:
        return ""
    if tool == _SHELL:
        return _covering_command(mine, arguments.get("command"))
    from bot.policy.globs import matches, normalise

    path = arguments.get("path", ".")
    plain = normalise(path, root) if isinstance(path, str) else None
    if plain is None:
        return ""
    return next((grant.written for grant in mine if not grant.glob or matches(grant.glob, plain)), "")


class ActiveGrants:
    """The grants of the one skill that has them now. `root` is the work tree as the tools see it."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._skill = ""
        self._grants: tuple[Grant, ...] = ()

    def begin(self, skill: str, grants: Sequence[Grant]) -> None:
        self._skill, self._grants = skill, tuple(grants)

    def end(self) -> None:
        self.begin("", ())

    def why(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """What pre-approves the call, in words; empty where nothing does."""
        written = covering(self._grants, tool, arguments, self._root)
        return f"the skill {self._skill} (allowed-tools: {written})" if written else ""


def _read(piece: str) -> Grant | str:
    found = _PIECE.fullmatch(piece)
    if found is None:
        return "it is not a tool's name, with what it may be used for in brackets"
    from bot.policy.globs import flaw

    name, inside = found[1].lower(), found[2]
    if name == _SHELL:
        return _read_command(piece, inside)
    if name in _READING:
        if inside and (wrong := flaw(inside)):
            return wrong
        return Grant(piece, _READING[name], glob=inside or "")
    if name in _WRITING:
        return "what is written is judged by the policy alone"
    return "there is no such tool here"


def _read_command(piece: str, inside: str | None) -> Grant | str:
    from bot.policy.wrappers import runs_another

    words, whole = _words(inside or "")
    if not words:
        return "it would allow every command; name the commands, as in Bash(git log:*)"
    if any("*" in word for word in words):
        return "a * may stand only at the end, as in Bash(git log:*)"
    if "/" in words[0]:
        return "what stands at a path may have been changed; name a program"
    if runs_another(words):
        return f"what `{words[0]}` runs is not in sight"
    return Grant(piece, _SHELL, words, whole)


def _words(inside: str) -> tuple[Words, bool]:
    """`git log:*` and `git log *` begin a command, `git log` is one."""
    text = inside.strip()
    for ending in (":*", " *"):
        if text.endswith(ending):
            return tuple(text.removesuffix(ending).split()), False
    return (() if text == "*" else tuple(text.split())), True


def _covering_command(grants: Sequence[Grant], command: object) -> str:
    from bot.policy.shell import parse_shell  # most sessions have no grant, and need no parser

    simple = parse_shell(command).simple if isinstance(command, str) else None
    if not simple:
        return ""
    used = [next((grant for grant in grants if _covers(grant, words)), None) for words in simple]
    if None in used:
        return ""
    return " ".join(dict.fromkeys(grant.written for grant in used if grant))


def _covers(grant: Grant, words: Words) -> bool:
    begun = words[: len(grant.words)] == grant.words
    return begun and (not grant.whole or len(words) == len(grant.words))
