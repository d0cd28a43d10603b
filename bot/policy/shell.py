"""Parse a shell command with tree-sitter, and prove it simple by a positive grammar.

Proven simple is a list or pipeline (`&&`, `||`, `;`, `|`, newline) of commands that consist of plain words
and quoted strings, nothing expanded, nothing redirected. Everything else is opaque: it runs in the sandbox
like any command, but no `allow` rule matches it. Names that run another command (interpreters, wrappers,
builtins that evaluate their arguments) are opaque too, since what they run is not in sight. Held against
real bash in `tests/policy/test_shell_truth.py`: simple is never wrong, where other shell parsers miss
commands in silence.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from itertools import islice, takewhile
from typing import TYPE_CHECKING, NamedTuple

from bot.policy.wrappers import Words, inner_commands, inner_shell_texts, runs_another

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

# In bytes of UTF-8. Longer commands are opaque and never parsed.
MAX_COMMAND = 8 * 1024
# In seconds of this thread's own time. The parser takes time by the square of some texts' length, and then the command
# is opaque too; what people write takes a hundredth of a second at most.
MAX_PARSING = 0.2
# Beneath this many bytes no text comes near the limit, so none is kept.
_SURELY_SHORT = 512

# Limits on commands inside commands: depth, and number in all.
_DEEPEST = 4
_MOST_SEEN = 1_000

_JOINTS = frozenset({"&&", "||", ";", "|", "\n"})
_CONTAINERS = frozenset({"program", "list", "pipeline"})
_NOT_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]")
_NOT_ASCII = re.compile("[^\x00-\x7f]")
_PLAIN_ASCII = re.compile(r"[A-Za-z0-9_@%+=:,./-]")
_NAME = re.compile(r"[A-Za-z0-9_.+/-]+")
_ESCAPED = re.compile(r"\\(.)")
_SPECIAL_IN_QUOTES = re.compile(r"[$`\\!]")
_BETWEEN_WORDS = re.compile(r"[ \t]*")
_BETWEEN_COMMANDS = re.compile(r"[ \t\n]*")


class ShellCommand(NamedTuple):
    """`simple` holds the words of each command, `None` when the whole is opaque.

    `seen` holds the words of every command that is in sight, whatever stands around it, those within other commands
    last: enough for a rule that denies, never for one that allows. It ends a command at the first word whose value is
    not in sight.
    """

    simple: tuple[Words, ...] | None
    seen: tuple[Words, ...]


def parse_shell(command: str, *, seconds: float = MAX_PARSING) -> ShellCommand:
    """Parse `command` by the grammar above. Never raises."""
    if len(command.encode("utf-8", "surrogatepass")) > MAX_COMMAND:
        return ShellCommand(None, ())
    tree = syntax_tree(command, seconds)
    if tree is None:
        return ShellCommand(None, ())
    is_odd = "\\\n" in command or _NOT_TEXT.search(command) or tree.root_node.has_error
    simple = None if is_odd else _simple_commands(tree.root_node, command)
    return ShellCommand(simple, _seen(tree, command, seconds))


def _seen(tree: Tree, command: str, seconds: float) -> tuple[Words, ...]:
    """Return the visible commands, then the commands in their words, level by level."""
    level = _in_tree(tree, command)
    if "\\\n" in command:
        level += _in_text(command.replace("\\\n", ""), seconds)
    commands, end = list[Words](), time.thread_time() + seconds
    for _ in range(_DEEPEST + 1):
        commands += level[: _MOST_SEEN - len(commands)]
        inner = (words for outer in level for words in _inner_commands(outer, seconds))
        in_time = takewhile(lambda _: time.thread_time() < end, inner)
        level = list(islice(in_time, _MOST_SEEN - len(commands)))
    return tuple(commands)


def _in_tree(tree: Tree, command: str) -> list[Words]:
    nodes = (node for node in _walk(tree.root_node) if node.type == "command")
    return [words for node in nodes if (words := _seen_words(node, command))]


def _inner_commands(words: Words, seconds: float) -> Iterator[Words]:
    yield from filter(None, inner_commands(words))
    for text in inner_shell_texts(words):
        yield from _in_text(text, seconds)


def _in_text(text: str, seconds: float) -> list[Words]:
    tree = syntax_tree(text, seconds)
    return [] if tree is None else _in_tree(tree, text)


def syntax_tree(command: str, seconds: float) -> Tree | None:
    """Return the syntax tree, with byte offsets equal to character offsets in `command`; `None` if parsing took too
    long.

    Each character beyond ASCII is replaced by `%`, an ordinary character of words: the grammar's scanner looks
    characters up in a table of the C library that does not cover Unicode, and `{\U0010ffff` crashed the process
    (tree-sitter-bash 0.25.1). A parser is for one text: it is made in microseconds, two threads
    never share one, and one that was stopped half-way would go on with the old text.
    """
    source = _NOT_ASCII.sub("%", command).encode("ascii")
    parser = _parsers()()
    if len(source) <= _SURELY_SHORT:
        return parser.parse(source)
    view, end = memoryview(source), time.thread_time() + seconds
    try:
        return parser.parse(
            lambda offset, point: view[offset:],
            progress_callback=lambda offset, has_error: time.thread_time() > end,
        )
    except ValueError:
        return None


@cache
def _parsers() -> Callable[[], Parser]:
    import tree_sitter
    import tree_sitter_bash

    return partial(tree_sitter.Parser, tree_sitter.Language(tree_sitter_bash.language()))


def _simple_commands(root: Node, source: str) -> tuple[Words, ...] | None:
    """Uses an explicit stack, since a list nests once for each of its operators."""
    commands: list[Words] = []
    position = 0
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type in _CONTAINERS:
            stack.extend(reversed(node.children))
            continue
        if not _BETWEEN_COMMANDS.fullmatch(source, position, node.start_byte):
            return None
        position = node.end_byte
        if node.type == "command":
            words = _command_words(node, source)
            if words is None or runs_another(words):
                return None
            commands.append(words)
        elif node.type not in _JOINTS or node.is_missing:
            return None
    if not _BETWEEN_COMMANDS.fullmatch(source, position):
        return None
    return tuple(commands) or None


def _command_words(node: Node, source: str) -> Words | None:
    """Return the words of a command if all are plain, else `None`."""
    words: list[str] = []
    position = node.start_byte
    for child in node.children:
        if not _BETWEEN_WORDS.fullmatch(source, position, child.start_byte):
            return None
        position = child.end_byte
        word = _word(child.children[0] if child.type == "command_name" else child, source)
        if word is None:
            return None
        words.append(word)
    return tuple(words) if words and _NAME.fullmatch(words[0]) else None


def _seen_words(node: Node, source: str) -> Words:
    words: list[str] = []
    for child in [*node.children, *_after_redirects(node)]:
        if (child.type == "variable_assignment" and not words) or child.type.endswith("_redirect"):
            continue
        inner = child.children[0] if child.type == "command_name" and child.children else child
        if not words and source[inner.start_byte : inner.end_byte] == "!":
            continue
        word = _word(inner, source, for_denial=True)
        if word is None:
            break
        words.append(word)
    return tuple(words)


def _after_redirects(node: Node) -> list[Node]:
    """Return the words that the parser takes for a redirection: `push` in `git >log push`."""
    around = node.parent
    if around is None or around.type != "redirected_statement":
        return []
    redirects = [child for child in around.children if child.type == "file_redirect"]
    return [child for one in redirects for child in one.children_by_field_name("destination")[1:]]


def _word(node: Node, source: str, *, for_denial: bool = False) -> str | None:
    """Return the value of a word without expansions; `None` for any other word. For rules that deny also of one with
    backslashes, such as `\\curl`, of `$'...'` and of one with `{}`."""
    text = source[node.start_byte : node.end_byte]
    if for_denial and "{}" in text and all(map(_is_plain, text.replace("{}", ""))):
        return text
    match node.type:
        case "word" | "number":
            plain = _ESCAPED.sub(r"\1", text) if for_denial else text
            return plain if plain and not node.children and all(map(_is_plain, plain)) else None
        case "raw_string":
            return text[1:-1]
        case "string" if not _SPECIAL_IN_QUOTES.search(text):
            return text[1:-1]
        case "ansi_c_string" if for_denial:
            with suppress(UnicodeError):
                return text[2:-1].encode("ascii").decode("unicode_escape")
        case "concatenation":
            parts = [_word(child, source, for_denial=for_denial) for child in node.children]
            return None if None in parts else "".join(filter(None, parts))
    return None


def _is_plain(character: str) -> bool:
    """Beyond ASCII only letters and digits: some locales take other blanks for the end of a word."""
    return bool(_PLAIN_ASCII.fullmatch(character)) if character < "\x80" else character.isalnum()


def _walk(root: Node) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))
