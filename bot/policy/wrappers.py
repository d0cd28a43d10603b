"""Commands that run what their arguments or their input say, so that their name says nothing of what runs."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence

_SHELLS = "sh ash bash csh dash fish ksh mksh rbash tcsh zsh busybox toybox pwsh"
_INTERPRETERS = (
    "python pypy ipython node nodejs deno bun tsx ts-node ruby irb perl php lua luajit tclsh expect R Rscript "
    "osascript java jshell groovy scala kotlin swift julia octave gnuplot guile racket sbcl erl elixir iex ghci runghc "
    "ocaml sqlite3 psql mysql redis-cli mongosh"
)
_PROGRAMS_OF_THEIR_OWN = (
    "awk gawk mawk nawk sed ed ex vi view vim nvim emacs nano less more man info m4 bc dc gdb lldb valgrind perf rr "
    "make gmake ninja just rake invoke tar cpio rsync nc ncat netcat socat ftp sftp telnet run-parts at batch crontab "
    "tmux screen"
)
_WRAPPERS = (
    "env nice ionice nohup timeout stdbuf setsid setarch taskset numactl chrt chroot unshare nsenter bwrap firejail "
    "setpriv capsh runcon prlimit choom sudo doas su sg pkexec gosu runuser xargs parallel watch strace ltrace script "
    "unbuffer flock time ssh scp sshpass npx pnpx bunx uvx pipx entr fakeroot faketime xvfb-run dbus-run-session "
    "systemd-run start-stop-daemon direnv nix-shell torsocks proxychains logrotate"
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

# By the program: the subcommands that run what comes after them.
_SUBCOMMANDS: Mapping[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "npm": "run run-script rum urn exec x explore",
        "pnpm": "run exec dlx",
        "yarn": "run exec dlx node",
        "uv": "run tool",
        "poetry": "run",
        "pdm": "run",
        "hatch": "run",
        "pipenv": "run shell",
        "conda": "run",
        "mamba": "run",
        "pyenv": "exec shell",
        "rbenv": "exec shell",
        "mise": "exec x run",
        "bundle": "exec",
        "gem": "exec",
        "composer": "exec run run-script",
        "go": "run generate tool",
        "cargo": "run r",
        "mix": "run eval cmd do",
        "stack": "exec run runghc",
        "cabal": "exec run",
        "dotnet": "run exec fsi script",
        "bazel": "run",
        "nix": "run shell develop",
        "docker": "run exec compose",
        "podman": "run exec compose",
        "kubectl": "exec run debug",
        "gh": "alias extension codespace",
        "ip": "netns vrf",
        "openssl": "engine",
    }.items()
}
# By the program: the options that name a command, or a file of commands. A program takes any prefix of a long one that
# no other option begins with, so such a prefix counts too.
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "sort": ("--compress-program",),
    "split": ("--filter",),
    "install": ("--strip-program",),
    "diff3": ("--diff-program",),
    "sdiff": ("--diff-program",),
    "rg": ("--pre", "--hostname-bin"),
    "fd": ("-x", "-X", "--exec", "--exec-batch"),
    "fdfind": ("-x", "-X", "--exec", "--exec-batch"),
    "zip": ("-TT", "--unzip-command"),
    "wget": ("-e", "--execute", "--use-askpass"),
    "patch": ("-e", "--ed"),
    "cmake": ("-E", "-P"),
    "ctest": ("-S", "-SP", "--script", "--build-and-test"),
    "svn": ("--diff-cmd", "--diff3-cmd", "--editor-cmd", "--config-option", "--config-dir"),
    "hg": ("--config", "--cwd", "-R", "--repository"),
    "xmllint": ("--shell",),
    "gpg": ("--photo-viewer", "--exec-path", "--keyserver-options"),
    "ld": ("-plugin", "--plugin"),
    "openssl": ("-engine", "-provider", "-provider-path"),
    **dict.fromkeys(
        ("cc", "gcc", "g++", "c++", "clang", "clang++", "gfortran"),
        ("-wrapper", "-fplugin", "-specs", "--specs", "-B", "-Xclang"),
    ),
}
# The same for options of one letter, which may stand among others.
_LETTERS = {
    "fd": re.compile("-[A-Za-z]*[xX]"),
    "fdfind": re.compile("-[A-Za-z]*[xX]"),
    "patch": re.compile("-[A-Za-z]*e"),
    "wget": re.compile("-[A-Za-z]*e"),
}
_FIND_ACTIONS = ("-exec", "-ok", "-delete", "-fprint", "-fls")
_GIT_LONG_OPTIONS = (
    "--config-env", "--exec-path", "--exec", "--ext-diff", "--textconv", "--upload-pack", "--receive-pack",
    "--open-files-in-pager", "--upload-archive", "--git-dir", "--work-tree", "--namespace", "--paginate",
)  # fmt: skip
_GIT_BY_VERB = {
    **dict.fromkeys(("diff", "log", "show", "blame"), ("--ext-diff", "--textconv")),
    **dict.fromkeys(("fetch", "pull", "clone", "ls-remote"), ("--upload-pack",)),
    "push": ("--receive-pack",),
    "archive": ("--exec",),
    "grep": ("--open-files-in-pager",),
}
_GIT_RUNNING = frozenset(
    {"bisect", "filter-branch", "rebase", "submodule", "difftool", "mergetool", "config"}
)


def runs_another(words: Sequence[str]) -> bool:
    """Whether the command may run another one that its first words do not name."""
    name = posixpath.basename(words[0])
    arguments = words[1:]
    if name in _NAMES or _VERSIONED.fullmatch(name):
        return True
    if name in _SUBCOMMANDS and any(argument in _SUBCOMMANDS[name] for argument in arguments):
        return True
    if name in _OPTIONS and any(_is_option(argument, _OPTIONS[name]) for argument in arguments):
        return True
    if name in _LETTERS and any(_LETTERS[name].match(argument) for argument in arguments):
        return True
    if name == "find":
        return any(argument.startswith(_FIND_ACTIONS) for argument in arguments)
    if name == "printf":
        return any(argument.startswith("-") for argument in arguments[:1])
    return name == "git" and _git_runs_another(arguments)


def running_parts(words: Sequence[str]) -> tuple[str, ...]:
    """The options and subcommands by which what begins with `words`, and is not opaque itself, runs others."""
    name = words[0]
    if name == "git":
        return _GIT_BY_VERB.get(words[1], ()) if len(words) > 1 else ("-c", *sorted(_GIT_RUNNING))
    if name == "find":
        return _FIND_ACTIONS
    subcommands = () if len(words) > 1 else tuple(sorted(_SUBCOMMANDS.get(name, ())))
    return (*_OPTIONS.get(name, ()), *subcommands)


def _is_option(argument: str, options: Sequence[str]) -> bool:
    """A long option may be cut short, and a value may stand right behind a letter."""
    if argument.startswith("--"):
        return len(argument) > 2 and _begins_one(argument.partition("=")[0], options)
    if not argument.startswith("-"):
        return False
    return any(argument.startswith(option) for option in options if not option.startswith("--"))


def _git_runs_another(arguments: Sequence[str]) -> bool:
    """An option before git's verb changes what git is; git also takes any prefix of a long option's name."""
    if arguments and arguments[0].startswith("-") and arguments[0] != "--version":
        return True
    if arguments and arguments[0] in _GIT_RUNNING:
        return True
    return any(
        "::" in argument
        or argument.startswith(("-O", "-x", "-c"))
        or (
            len(argument) > 3
            and argument.startswith("--")
            and _begins_one(argument.partition("=")[0], _GIT_LONG_OPTIONS)
        )
        for argument in arguments
    )


def _begins_one(option: str, options: Sequence[str]) -> bool:
    return any(full.startswith(option) for full in options)
