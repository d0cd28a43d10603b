"""`allowed-tools`: which calls a skill pre-approves that the policy would ask about, and for how long.

A grant replaces the answer of an absent person. What the policy denies stays denied, and writes are never
granted: the gate and the publishing job would ask again without knowing the skill. A grant starts with the
skill's text and ends with the model's turn, or when another skill is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bot.contracts.globs import matches
from bot.policy.globs import flaw, normalise
from bot.policy.shell import parse_shell
from bot.policy.wrappers import runs_another

Words = tuple[str, ...]

_READING = {"read": "view", "view": "view", "grep": "grep", "glob": "glob", "ls": "ls"}
_WRITING = frozenset({"edit", "multiedit", "write", "notebookedit", "patch"})
_SHELL = "bash"
_TOOL_PIECE = re.compile(r"([A-Za-z_][\w-]*)(?:\((.*)\))?", re.DOTALL)
_MAX_EXCERPT = 60


class Grant(NamedTuple):
    """`written` is the piece of `allowed-tools`. For the shell, `words` are a command's first words, or all of
    them with `whole`; for a reading tool, `glob` restricts the paths, empty for all."""

    written: str
    tool: str
    words: Words = ()
    whole: bool = False
    glob: str = ""


class Grants(NamedTuple):
    """The valid `grants`, and the reasons why the other pieces grant nothing."""

    grants: tuple[Grant, ...]
    rejected: tuple[str, ...]


def read_grants(allowed: Sequence[str]) -> Grants:
    """Parse the pieces. Never raises: what is not understood grants nothing."""
    grants: list[Grant] = []
    rejected: list[str] = []
    for piece in allowed:
        grant = _read(piece)
        if isinstance(grant, Grant):
            grants.append(grant)
        else:
            rejected.append(f"{piece[:_MAX_EXCERPT]!a} grants nothing: {grant}")
    return Grants(tuple(grants), tuple(rejected))


def covering_pieces(grants: Sequence[Grant], tool: str, arguments: Mapping[str, Any], root: str) -> str:
    """Return the pieces that together cover the whole call, as written; empty if they do not."""
    matching = [grant for grant in grants if grant.tool == tool]
    if not matching:
        return ""
    if tool == _SHELL:
        return _covering_command_pieces(matching, arguments.get("command"))
    path = arguments.get("path", ".")
    plain = normalise(path, root) if isinstance(path, str) else None
    if plain is None:
        return ""
    return next((grant.written for grant in matching if not grant.glob or matches(grant.glob, plain)), "")


class ActiveGrants:
    """The grants of the active skill. `root` is the work tree as the tools see it."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._skill = ""
        self._grants: tuple[Grant, ...] = ()

    def begin(self, skill: str, grants: Sequence[Grant]) -> None:
        self._skill, self._grants = skill, tuple(grants)

    def end(self) -> None:
        self.begin("", ())

    def why(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Return what pre-approves the call, in words; empty for nothing."""
        written = covering_pieces(self._grants, tool, arguments, self._root)
        return f"the skill {self._skill} (allowed-tools: {written})" if written else ""


def _read(piece: str) -> Grant | str:
    match = _TOOL_PIECE.fullmatch(piece)
    if match is None:
        return "it is not a tool's name, with what it may be used for in brackets"
    name, inside = match[1].lower(), match[2]
    if name == _SHELL:
        return _read_command(piece, inside)
    if name in _READING:
        if inside and (problem := flaw(inside)):
            return problem
        return Grant(piece, _READING[name], glob=inside or "")
    if name in _WRITING:
        return "what is written is judged by the policy alone"
    return "there is no such tool here"


def _read_command(piece: str, inside: str | None) -> Grant | str:
    words, whole = _words(inside or "")
    if not words:
        return "it would allow every command; name the commands, as in Bash(git log:*)"
    if "/" in words[0]:
        return "what stands at a path may have been changed; name a program"
    if runs_another(words):
        return f"what `{words[0]}` runs is not in sight"
    if any("*" in word for word in words):
        return "a * stands for whole words, after a blank or a colon, as in Bash(git log:*)"
    return Grant(piece, _SHELL, words, whole)


def _words(inside: str) -> tuple[Words, bool]:
    """Return the words and whether they are the whole command: `git log:*` and `git log *` are a prefix, `git
    log` is a whole command."""
    text = inside.strip()
    for ending in (":*", " *"):
        if text.endswith(ending):
            return tuple(text.removesuffix(ending).split()), False
    return (() if text == "*" else tuple(text.split())), True


def _covering_command_pieces(grants: Sequence[Grant], command: object) -> str:
    simple = parse_shell(command).simple if isinstance(command, str) else None
    if not simple:
        return ""
    used = [next((grant for grant in grants if _covers(grant, words)), None) for words in simple]
    if None in used:
        return ""
    return " ".join(dict.fromkeys(grant.written for grant in used if grant))


def _covers(grant: Grant, words: Words) -> bool:
    is_prefix = words[: len(grant.words)] == grant.words
    return is_prefix and (not grant.whole or len(words) == len(grant.words))
