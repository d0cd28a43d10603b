"""Take a script of CI apart: its statements, and the installs among them that the shell's grammar proves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from bot.ecosystems.registry import ecosystem_of, named, use_of
from bot.ecosystems.uses import Use
from bot.policy.shell import parse_shell, syntax_tree

if TYPE_CHECKING:
    from tree_sitter import Node

_LONGEST = 8 * 1024
_SECONDS = 0.2
_PLAIN = re.compile(r"[^$`\\(){}<>|&;!\"'\s]+")
_SUBSTITUTED = re.compile(r"[$`\\]")


class Statement(NamedTuple):
    """One statement. `words` are those of a plain command, nothing in it is expanded; `None` for any other. `uses` are
    of all commands that are in sight."""

    text: str
    words: tuple[str, ...] | None
    uses: frozenset[Use]

    @property
    def installs(self) -> bool:
        """Whether it is proven to install and do nothing else."""
        return self.words is not None and self.uses in ({Use.INSTALL}, {Use.SYSTEM})


def statements(script: str) -> tuple[Statement, ...]:
    """Return the statements of a script, those joined by `&&` one by one. A script that cannot be taken apart is one
    statement; comments are left out."""
    script = re.sub(r"[ \t]*\\\r?\n[ \t]*", " ", script).strip()
    tree = syntax_tree(script, _SECONDS) if len(script) <= _LONGEST else None
    if tree is None or tree.root_node.has_error or "<<" in script:
        return (_statement(script, None),) if script else ()
    return tuple(part for child in tree.root_node.children for part in _parts(child, script))


def _parts(node: Node, script: str) -> Iterator[Statement]:
    if node.type == "list" and all(joint.type == "&&" for joint in node.children if not joint.is_named):
        for child in node.named_children:
            yield from _parts(child, script)
    elif node.is_named and node.type != "comment":
        yield _statement(script[node.start_byte : node.end_byte], _words(node, script))


def _statement(text: str, words: tuple[str, ...] | None) -> Statement:
    seen = [words] if words else parse_shell(text).seen
    return Statement(text, words, frozenset(use for one in seen if (use := use_of(one)) is not None))


def _words(node: Node, script: str) -> tuple[str, ...] | None:
    """Return the words of a command of plain words and quoted strings, `None` for any other. Leading assignments are
    left out."""
    if node.type != "command":
        return None
    words: list[str] = []
    for child in node.children:
        text = script[child.start_byte : child.end_byte]
        if child.type == "variable_assignment" and not words and not _SUBSTITUTED.search(text):
            continue
        word = _word(child.children[0] if child.type == "command_name" and child.children else child, script)
        if word is None:
            return None
        words.append(word)
    return tuple(words) or None


def _word(node: Node, script: str) -> str | None:
    text = script[node.start_byte : node.end_byte]
    if node.type == "raw_string":
        return text[1:-1]
    if node.type == "string":
        return None if _SUBSTITUTED.search(text) else text[1:-1]
    if node.type == "concatenation":
        parts = [_word(child, script) for child in node.children]
        return None if None in parts else "".join(part for part in parts if part is not None)
    return text if _PLAIN.fullmatch(text) else None


def reports_of(command: str) -> list[str]:
    """Return the patterns of the reports that the tools of a command write by themselves."""
    names = {ecosystem_of(part.words) for part in statements(command) if part.words} - {""}
    return [pattern for name in sorted(names) for pattern in named(name).reports]
