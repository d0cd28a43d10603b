"""Take a script of CI apart: its statements, and the installs among them that the shell's grammar proves."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import dropwhile
from typing import TYPE_CHECKING, NamedTuple

from bot.ecosystems.record import Use
from bot.ecosystems.registry import ecosystem_of, use_of
from bot.policy.shell import parse_shell

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

_LONGEST = 8 * 1024
_SECONDS = 0.2
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


class Statement(NamedTuple):
    """One statement. `words` are those of a plain command, nothing in it is expanded, and `ecosystem` is the name of
    the one that it belongs to, empty if unknown; `None` for any other statement. `uses` are of all commands in
    sight."""

    text: str
    words: tuple[str, ...] | None
    uses: frozenset[Use]
    ecosystem: str | None

    @property
    def installs(self) -> bool:
        """Whether it is proven to install and do nothing else."""
        return self.words is not None and self.uses in ({Use.INSTALL}, {Use.SYSTEM})


def statements(script: str) -> tuple[Statement, ...]:
    """Return the statements of a script, those joined by `&&` one by one. A script that cannot be taken apart is one
    statement; comments are left out."""
    script = re.sub(r"[ \t]*\\\r?\n[ \t]*", " ", script).strip()
    tree = _syntax_tree(script) if len(script) <= _LONGEST else None
    if tree is None or tree.root_node.has_error or "<<" in script:
        return (_statement(script, None),) if script else ()
    return tuple(part for child in tree.root_node.children for part in _parts(child, script))


def _syntax_tree(script: str) -> Tree | None:
    """Return the syntax tree, with byte offsets equal to character offsets in `script`; `None` if parsing takes too
    long, as by the square of some texts' length.

    Each character beyond ASCII is replaced by `%`, an ordinary character of words: the grammar's scanner looks
    characters up in a table of the C library that does not cover Unicode, and `{\U0010ffff` crashed the process
    (tree-sitter-bash 0.25.1).
    """
    import tree_sitter
    import tree_sitter_bash

    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
    source, end = re.sub("[^\x00-\x7f]", "%", script).encode(), time.thread_time() + _SECONDS
    with suppress(ValueError):
        return parser.parse(
            lambda offset, point: source[offset:],
            progress_callback=lambda offset, has_error: time.thread_time() > end,
        )
    return None


def _parts(node: Node, script: str) -> Iterator[Statement]:
    # The `&` behind a command is no part of its node.
    last = node.next_sibling if node.next_sibling and node.next_sibling.type == "&" else node
    joints = {child.type for child in node.children if not child.is_named}
    if node.type == "list" and joints == {"&&"} and last is node:
        for child in node.named_children:
            yield from _parts(child, script)
    elif node.is_named and node.type != "comment":
        text = script[node.start_byte : last.end_byte]
        yield _statement(text, _words(node, text) if last is node else None)


def _statement(text: str, words: tuple[str, ...] | None) -> Statement:
    # Of `make -j$(nproc) check`, the policy's parser sees the words before and behind the substitution apart.
    whole = re.sub(r"\$\([^()]*\)", "x", text)
    seen = [words] if words else [*parse_shell(text).seen, *parse_shell(whole).seen]
    uses = frozenset(use for one in seen if (use := use_of(one)) is not None)
    return Statement(text, words, uses, ecosystem_of(words) if words else None)


def _words(node: Node, text: str) -> tuple[str, ...] | None:
    """Return the words of a command in which nothing is expanded, without assignments; `None` for any other."""
    if node.type != "command" or re.search(r"[$`\\]|[<>]\(|<<<", text):
        return None
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    return tuple(dropwhile(_ASSIGNMENT.match, words)) or None
