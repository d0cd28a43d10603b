"""Shell commands that are denied by default: they destroy work, or do what a run never needs.

The sandbox is the boundary; these rules only guide the model. Only plain commands count. Git and `rm` of a relative
path are allowed in a folder outside of the work tree, since tests make repositories in `$TMPDIR`. A policy lifts a rule
by its name: `dangerous: {allow: [git-commit]}`.
"""

import posixpath
import re
from collections.abc import Collection
from typing import NamedTuple

from bot.policy.shell import split_commands


class Dangerous(NamedTuple):
    """A built-in rule. `pattern` matches the beginning of a command, its words joined by blanks. `nearest` is the
    nearest allowed way."""

    name: str
    reason: str
    nearest: str
    pattern: str


_NOT_PLAIN = re.compile(r"\$\(|`|<<|<\(|>\(")
_GIT = r"git(?: (?:-[cC]|--git-dir|--work-tree) \S+| -\S+)*+"
_FOR_REAL = r"(?!\S)(?!.* (?:--dry-run|--help|-h)(?!\S))"
_TREE_OF_GIT = re.compile(r" (?:-C|--git-dir|--work-tree)[ =](\S+)")


RULES = (
    Dangerous(
        "delete-all",
        "it deletes the repository, the home folder or the whole disk",
        "`rm` of the files that are in the way, by name",
        r"rm (?:.* )?(?:-[A-Za-z]*[rR]|--recursive)",
    ),
    Dangerous("sudo", "no command has more rights here", "the command without it", r"(?:sudo|doas)(?!\S)"),
    Dangerous(
        "git-push",
        "what you changed is published for you when you are done",
        "`git diff`",
        rf"{_GIT} push{_FOR_REAL}",
    ),
    Dangerous(
        "git-commit",
        "what you changed is committed for you when you are done",
        "`git diff` or `git stash`",
        rf"{_GIT} commit{_FOR_REAL}",
    ),
    Dangerous(
        "git-reset-hard",
        "it discards all changes at once",
        "`git restore PATH` of single files",
        rf"{_GIT} reset{_FOR_REAL}.* --hard(?!\S)",
    ),
    Dangerous(
        "git-clean",
        "it deletes ignored files too, such as installed packages",
        "`git clean -n`, then `rm` of single files",
        rf"{_GIT} clean{_FOR_REAL}(?!.* -[A-Za-z]*n).* -[A-Za-z]*[xX]",
    ),
)
NAMES = tuple(rule.name for rule in RULES)


def dangerous(
    command: str, root: str, lifted: Collection[str] = (), *, outside: bool = False
) -> Dangerous | None:
    """Return the first built-in rule that `command` breaks and whose name is not `lifted`, or `None`. `root` is the
    work tree as commands see it, empty if unknown; `outside`: the command starts outside of it."""
    if _NOT_PLAIN.search(command):
        return None
    for name, *arguments in split_commands(command):
        line = " ".join([posixpath.basename(name), *arguments])
        if name in {"cd", "pushd"}:
            # A relative folder leads out of the work tree by `..`, but never back.
            folder = "".join(arguments[:1])
            if not outside or folder.startswith(("/", "-")):
                outside = folder == "" or _elsewhere(folder, root)
        is_elsewhere = outside or any(_elsewhere(tree, root) for tree in _TREE_OF_GIT.findall(line))
        for rule in RULES:
            if rule.name in lifted or not re.match(rule.pattern, line):
                continue
            if rule.name == "delete-all" and not any(_is_all(one, root, outside) for one in arguments):
                continue
            if not (is_elsewhere and line.startswith("git")):
                return rule
    return None


def _is_all(path: str, root: str, outside: bool) -> bool:
    plain = posixpath.normpath(("/" if path == "/*" else path.removesuffix("/*")).removeprefix("*") or ".")
    if plain.startswith("/"):
        return plain.strip("/") == "" or plain in {root, f"{root}/.git", posixpath.dirname(root)}
    if plain in {"~", "$HOME", "${HOME}"}:
        return True
    return not outside and plain in {".", "..", ".*", "$PWD", "${PWD}", ".git", "$PWD/.git", "${PWD}/.git"}


def _elsewhere(folder: str, root: str) -> bool:
    """Whether a folder is, or may be, outside of the work tree: a variable's value is unknown."""
    if folder.startswith(("$", "~")):
        return True
    if not folder.startswith("/"):
        return folder.split("/")[0] == ".."
    return not root or posixpath.commonpath([posixpath.normpath(folder), root]) != root
