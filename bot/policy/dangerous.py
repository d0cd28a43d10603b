"""Shell commands that are denied by default: they destroy work, or do what a run never needs.

The sandbox is the boundary; these rules only guide the model. Only plain commands count. Git and `rm` of a relative
path are allowed in a folder outside of the work tree, since tests make repositories in `$TMPDIR`. A policy lifts a rule
by its name: `dangerous: {allow: [git-commit]}`.
"""

import posixpath
import re
from collections.abc import Callable, Collection
from typing import NamedTuple

from bot.policy.shell import split_commands

Words = list[str]


class Dangerous(NamedTuple):
    """A built-in rule. `matches` takes the words of one command, the first without its folder, the root of the work
    tree, and whether the command runs outside of it. `nearest` is the nearest allowed way, empty if there is none."""

    name: str
    reason: str
    nearest: str
    matches: Callable[[Words, str, bool], bool]


_MENTIONED = re.compile(r"\b(?:rm|sudo|doas)\b|\bgit\b.*?\b(?:push|commit|reset|clean)\b", re.DOTALL)
_GIT_OPTIONS_WITH_ARGUMENT = frozenset({"-c", "-C", "--git-dir", "--work-tree"})
_NOT_PLAIN = re.compile(r"\$\(|`|<<|<\(|>\(")


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
            rest = rest[2 if not value and name in _GIT_OPTIONS_WITH_ARGUMENT else 1 :]
        return rest[:1] == [verb] and not {"--dry-run", "--help", "-h"} & {*rest} and options(rest[1:])

    return matches


RULES = (
    Dangerous(
        "delete-all",
        "it deletes the repository, the home folder or the whole disk",
        "`rm` of the files that are in the way, by name",
        _deletes_all,
    ),
    Dangerous(
        "sudo",
        "no command has more rights here",
        "the command without it",
        lambda words, root, outside: words[0] in {"sudo", "doas"},
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
NAMES = tuple(rule.name for rule in RULES)


def dangerous(
    command: str, root: str, lifted: Collection[str] = (), *, outside: bool = False
) -> Dangerous | None:
    """Return the first built-in rule that `command` breaks and whose name is not `lifted`, or `None`. `root` is the
    work tree as commands see it, empty if unknown; `outside`: the command starts outside of it."""
    if not _MENTIONED.search(command) or _NOT_PLAIN.search(command):
        return None
    for name, *arguments in split_commands(command):
        words = [posixpath.basename(name), *arguments]
        if words[0] in {"cd", "pushd"}:
            # A relative folder leads out of the work tree by `..`, but never back.
            folder = "".join(words[1:2])
            if not outside or folder.startswith(("/", "-")):
                outside = folder == "" or _elsewhere(folder, root)
        for rule in RULES:
            if rule.name not in lifted and rule.matches(words, root, outside):
                return rule
    return None


def _elsewhere(folder: str, root: str) -> bool:
    """Whether a folder is, or may be, outside of the work tree: a variable's value is unknown."""
    if folder.startswith(("$", "~")):
        return True
    if not folder.startswith("/"):
        return folder.split("/")[0] == ".."
    return not root or posixpath.commonpath([posixpath.normpath(folder), root]) != root
