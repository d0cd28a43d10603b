"""Shell commands that are denied by default: they destroy work, or do what a run never needs.

The sandbox is the boundary; these rules only guide the model. Only plain commands count. They are split by `shlex` and
not by the grammar of `bot.policy.shell`, which does not say what `$HOME` and `*` stand for or what a pipe joins. Git
and `rm` of a relative path are allowed in a folder outside of the work tree, since tests make repositories in
`$TMPDIR`. A policy lifts a rule by its name: `dangerous: {allow: [git-commit]}`.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from bot.policy.programs import GIT_OPTIONS_WITH_ARGUMENT, HARMLESS_DEVICES, PIPE_SHELLS

Words = list[str]


class Dangerous(NamedTuple):
    """A built-in rule. `matches` takes the words of one command, the first without its folder, the root of the work
    tree, and whether the command runs outside of it. `nearest` is the nearest allowed way, empty if there is none."""

    name: str
    reason: str
    nearest: str
    matches: Callable[[Words, str, bool], bool]


_MENTIONED = re.compile(
    r"\b(?:rm|sudo|doas|shutdown|reboot|halt|poweroff|mkfs\S*|dd|curl|wget)\b|\bgit\b.*?\b(?:push|commit|reset|clean)\b|\(\)",
    re.DOTALL,
)
_FORK_BOMB = re.compile(r"(\S+?)\s*\(\)\s*\{\s*\1\s*\|\s*\1\s*&\s*\}")
_NOT_PLAIN = re.compile(r"\$\(|`|<<|<\(|>\(")
_PUNCTUATION = "();<>|&\n"


def _flags(words: Words) -> str:
    """Return the letters of all short options: `rf` for both `-r -f` and `-rf`."""
    return "".join(word[1:] for word in words if re.fullmatch(r"-[A-Za-z]+", word))


def _deletes_all(words: Words, root: str, outside: bool) -> bool:
    if words[0] != "rm" or not ({*_flags(words)} & {"r", "R"} or "--recursive" in words):
        return False
    return any(_is_all(word, root, outside) for word in words[1:] if not word.startswith("-"))


def _is_all(word: str, root: str, outside: bool) -> bool:
    plain = posixpath.normpath(("/" if word == "/*" else word.removesuffix("/*")).removeprefix("*") or ".")
    if plain.startswith("/"):
        return plain.strip("/") == "" or plain in {root, f"{root}/.git", posixpath.dirname(root)}
    if plain in {"~", "$HOME", "${HOME}"}:
        return True
    return not outside and plain in {".", "..", ".*", "$PWD", "${PWD}", ".git", "$PWD/.git", "${PWD}/.git"}


def _git(
    verb: str, options: Callable[[Words], bool] = lambda rest: True
) -> Callable[[Words, str, bool], bool]:
    def matches(words: Words, root: str, outside: bool) -> bool:
        if words[0] != "git" or outside:
            return False
        rest = words[1:]
        while rest and rest[0].startswith("-"):
            name, _, value = rest[0].partition("=")
            if name in {"-C", "--git-dir", "--work-tree"} and _elsewhere(value or "".join(rest[1:2]), root):
                return False
            rest = rest[2 if not value and name in GIT_OPTIONS_WITH_ARGUMENT else 1 :]
        return rest[:1] == [verb] and not {"--dry-run", "--help", "-h"} & {*rest} and options(rest[1:])

    return matches


def _named(*names: str) -> Callable[[Words, str, bool], bool]:
    return lambda words, root, outside: words[0].split(".")[0] in names


RULES = (
    Dangerous(
        "delete-all",
        "it deletes the repository, the home folder or the whole disk",
        "`rm` of the files that are in the way, by name",
        _deletes_all,
    ),
    Dangerous("sudo", "no command has more rights here", "the command without it", _named("sudo", "doas")),
    Dangerous(
        "shutdown",
        "it stops the machine",
        "to end the turn",
        _named("shutdown", "reboot", "halt", "poweroff"),
    ),
    Dangerous(
        "disk",
        "it writes to a device or makes a file system",
        "`dd` to a file",
        lambda words, root, outside: (
            words[0].startswith("mkfs")
            or (
                words[0] == "dd"
                and any(word.startswith("of=/dev/") and word[3:] not in HARMLESS_DEVICES for word in words)
            )
        ),
    ),
    Dangerous(
        "git-push", "what you changed is published for you when you are done", "`git diff`", _git("push")
    ),
    Dangerous(
        "git-commit",
        "what you changed is committed for you when you are done",
        "`git diff` or `git stash`",
        _git("commit"),
    ),
    Dangerous(
        "git-reset-hard",
        "it discards all changes at once",
        "`git restore PATH` of single files",
        _git("reset", lambda rest: "--hard" in rest),
    ),
    Dangerous(
        "git-clean",
        "it deletes ignored files too, such as installed packages",
        "`git clean -n`, then `rm` of single files",
        _git("clean", lambda rest: bool({*_flags(rest)} & {"x", "X"}) and "n" not in _flags(rest)),
    ),
)
_PIPE_TO_SHELL = Dangerous(
    "pipe-to-shell",
    "it runs what a server sends, unseen",
    "to download to a file, look at it, and run that",
    lambda words, root, outside: words[0] in {"curl", "wget"},
)
_BOMB = Dangerous("fork-bomb", "it starts processes without end", "", lambda words, root, outside: False)
NAMES = tuple(rule.name for rule in (*RULES, _PIPE_TO_SHELL, _BOMB))


def dangerous(
    command: str, root: str, lifted: Collection[str] = (), *, outside: bool = False
) -> Dangerous | None:
    """Return the first built-in rule that `command` breaks and whose name is not `lifted`, or `None`. `root` is the
    work tree as commands see it, empty if unknown; `outside`: the command starts outside of it."""
    if not _MENTIONED.search(command):
        return None
    if _BOMB.name not in lifted and _FORK_BOMB.search(command):
        return _BOMB
    piped = False
    for words, joint in _commands(command):
        if words[0] in {"cd", "pushd"}:
            outside = _outside_after("".join(words[1:2]), root, outside)
        for rule in RULES:
            if rule.name not in lifted and rule.matches(words, root, outside):
                return rule
        if piped and words[0] in PIPE_SHELLS and _PIPE_TO_SHELL.name not in lifted:
            return _PIPE_TO_SHELL
        piped = joint == "|" and (piped or _PIPE_TO_SHELL.matches(words, root, outside))
    return None


def _commands(command: str) -> Iterator[tuple[Words, str]]:
    """Yield the words of each command and the operator after it; nothing for a command that is not plain."""
    if _NOT_PLAIN.search(command):
        return
    lexer = shlex.shlex(command, posix=True, punctuation_chars=_PUNCTUATION)
    lexer.whitespace, lexer.whitespace_split = " \t\r", True
    try:
        tokens = [*lexer, ";"]
    except ValueError:
        return
    words: Words = []
    for before, token in zip(["", *tokens], tokens, strict=False):
        if not {*token} <= {*_PUNCTUATION}:
            if before not in {">", ">>", "<", ">&"}:
                words.append(token)
        elif token.strip("\n") not in {">", ">>", "<", ">&"}:
            while words and re.match(r"[A-Za-z_]\w*=", words[0]):
                words = words[1:]
            if words:
                yield [posixpath.basename(words[0]), *words[1:]], token.strip("\n")
            words = []


def _outside_after(folder: str, root: str, outside: bool) -> bool:
    """Whether a command is, or may be, outside of the work tree after `cd` to `folder`. A relative folder leads out of
    it by `..`, but never back."""
    if outside and not folder.startswith(("/", "-")):
        return True
    return folder == "" or _elsewhere(folder, root)


def _elsewhere(folder: str, root: str) -> bool:
    """Whether a folder is, or may be, outside of the work tree: a variable's value is unknown."""
    if folder.startswith(("$", "~")):
        return True
    if not folder.startswith("/"):
        return folder.split("/")[0] == ".."
    return not root or posixpath.commonpath([posixpath.normpath(folder), root]) != root
