"""Commands that run what their arguments or their input say, so that their name says nothing of what runs."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

_SHELLS = "sh ash bash csh dash fish ksh mksh tcsh zsh busybox toybox pwsh"
_INTERPRETERS = (
    "python pypy node nodejs deno bun ruby perl php lua luajit tclsh expect R Rscript osascript java"
)
_PROGRAMS_OF_THEIR_OWN = (
    "awk gawk mawk nawk sed ed ex vi vim nvim emacs m4 bc dc gdb make gmake ninja tar rsync"
)
_WRAPPERS = (
    "env nice ionice nohup timeout stdbuf setsid setarch taskset chrt chroot unshare nsenter sudo doas su "
    "runuser xargs parallel watch strace ltrace script flock time ssh scp npx pnpx bunx uvx pipx entr"
)
# Builtins that run or evaluate their arguments (`test -v 'a[$(x)]'` runs x), or change what later words mean.
_BUILTINS = (
    ". source eval exec command builtin coproc trap alias unalias bind enable hash complete compgen compopt "
    "fc history set shopt test [ [[ (( let read mapfile readarray getopts wait declare typeset local export "
    "readonly unset function fg bg jobs disown"
)
# Reserved words: where the parser takes one for a command's name, it has not understood the command.
_RESERVED = "if then elif else fi for while until do done case esac select in time ! { }"
_NAMES = frozenset(
    " ".join([_SHELLS, _INTERPRETERS, _PROGRAMS_OF_THEIR_OWN, _WRAPPERS, _BUILTINS, _RESERVED]).split()
)
_VERSIONED = re.compile(r"(?:python|pypy|ruby|perl|php|lua|node|tclsh)[0-9.]+")

_RUNNERS = {
    "npm": frozenset({"run", "run-script", "rum", "urn", "exec", "x", "explore"}),
    "pnpm": frozenset({"run", "exec", "dlx"}),
    "yarn": frozenset({"run", "exec", "dlx", "node"}),
    "uv": frozenset({"run", "tool"}),
    "poetry": frozenset({"run"}),
    "go": frozenset({"run", "generate", "tool"}),
    "cargo": frozenset({"run", "r"}),
    "docker": frozenset({"run", "exec", "compose"}),
}
_FIND_ACTIONS = ("-exec", "-ok", "-delete", "-fprint", "-fls")
_GIT_LONG_OPTIONS = (
    "--config-env", "--exec-path", "--exec", "--ext-diff", "--textconv", "--upload-pack", "--receive-pack",
    "--open-files-in-pager", "--upload-archive", "--git-dir", "--work-tree", "--namespace", "--paginate",
)  # fmt: skip
_GIT_RUNNING = frozenset(
    {"bisect", "filter-branch", "rebase", "submodule", "difftool", "mergetool", "config"}
)


def runs_another(words: Sequence[str]) -> bool:
    """Whether the command may run another one that its first words do not name."""
    name = posixpath.basename(words[0])
    arguments = words[1:]
    if name in _NAMES or _VERSIONED.fullmatch(name):
        return True
    if name in _RUNNERS:
        return any(argument in _RUNNERS[name] for argument in arguments)
    if name == "find":
        return any(argument.startswith(_FIND_ACTIONS) for argument in arguments)
    if name == "printf":
        return any(argument.startswith("-") for argument in arguments[:1])
    return name == "git" and _git_runs_another(arguments)


def _git_runs_another(arguments: Sequence[str]) -> bool:
    """An option before git's verb changes what git is; git also takes any prefix of a long option's name."""
    if arguments and arguments[0].startswith("-") and arguments[0] != "--version":
        return True
    if arguments and arguments[0] in _GIT_RUNNING:
        return True
    return any(
        "::" in argument
        or argument.startswith(("-O", "-x", "-c"))
        or (len(argument) > 3 and argument.startswith("--") and _is_prefix_of_one(argument.partition("=")[0]))
        for argument in arguments
    )


def _is_prefix_of_one(option: str) -> bool:
    return any(full.startswith(option) for full in _GIT_LONG_OPTIONS)
