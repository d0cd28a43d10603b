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
    "awk gawk mawk nawk sed ed ex vi view vim nvim emacs nano less more man info m4 bc dc gdb lldb valgrind perf "
    "rr make gmake bmake remake ninja samu just rake invoke task mage tar cpio rsync nc ncat netcat socat ftp "
    "lftp sftp telnet run-parts at batch crontab tmux screen zellij byobu dtach rview rvim vimdiff gvim evim pico "
    "joe jmacs editor sensible-editor sensible-pager pager xdg-open run-mailcap see open emacsclient bpftrace "
    "prove perldoc ansible ansible-console salt-call puppet chef-apply fab hyperfine nodemon pm2 latex pdflatex "
    "xelatex lualatex tex pdftex gs gpg-agent debconf dpkg-architecture sotruss radare2 r2 rpm pre-commit "
    "chromium google-chrome"
)
_WRAPPERS = (
    "env nice ionice nohup timeout stdbuf setsid setarch taskset numactl chrt chroot unshare nsenter bwrap "
    "firejail setpriv capsh runcon prlimit choom sudo doas su sg pkexec gosu runuser xargs parallel watch strace "
    "ltrace script unbuffer flock time ssh scp sshpass npx pnpx bunx uvx pipx entr fakeroot faketime xvfb-run "
    "dbus-run-session systemd-run systemd-cat systemd-inhibit systemd-nspawn run0 start-stop-daemon direnv "
    "nix-shell torsocks tsocks proxychains logrotate linux32 linux64 i386 x86_64 uname26 uclampset coresched "
    "enosys ssh-agent dbus-launch xinit startx xterm x-terminal-emulator catchsegv eatmydata chronic ifne mispipe "
    "pee sem pexec rlwrap cpulimit cgexec proot fakechroot schroot apptainer singularity flatpak wine mono tini "
    "dumb-init su-exec watchexec reflex chamber doppler dotenv cross-env concurrently corepack run-one timelimit "
    "nocache trickle daemonize flatpak-spawn toolbox"
)
# Builtins that run or evaluate their arguments (`test -v 'a[$(x)]'` runs x), or change what later words mean.
_BUILTINS = (
    ". source eval exec command builtin coproc trap alias unalias bind enable hash complete compgen compopt "
    "fc history set shopt test [ [[ (( let read mapfile readarray getopts wait declare typeset local export "
    "readonly unset function fg bg jobs disown"
)
# Reserved words: where the parser takes one for a command's name, it has not understood the command.
_RESERVED = "if then elif else fi for while until do done case esac select in time ! { }"
SHELLS = frozenset(_SHELLS.split()) - {"busybox", "toybox"}
# What comes after these is a command, but for their own options and the one word that some take first.
PREFIXES = frozenset(f"{_WRAPPERS} {_RESERVED} builtin command exec coproc busybox toybox".split())
_TAKING_A_WORD = (
    "flock chroot gosu su-exec su sg taskset setarch runcon ssh sshpass nsenter cpulimit schroot proot coproc"
)
TAKES_A_WORD = frozenset(_TAKING_A_WORD.split())
_NAMES = frozenset(
    " ".join([_SHELLS, _INTERPRETERS, _PROGRAMS_OF_THEIR_OWN, _WRAPPERS, _BUILTINS, _RESERVED]).split()
)
# `gcc-12`, `perl5.36-x86_64-linux-gnu`, `x86_64-linux-gnu-gcc`, `vim.tiny`: another name of the same program.
_MACHINE = r"[a-z0-9_]+-(?:[a-z]+-)?(?:linux|elf|musl|w64|pc|apple|darwin)[a-z0-9_-]*?"
_PREFIXED = re.compile(rf"\A{_MACHINE}-(?=[a-z+]+(?:-[0-9.]+)?\Z)")
_SUFFIXED = re.compile(rf"[-.]?[0-9][0-9.]*(?:-dbg|-{_MACHINE})?\Z")
# The loader of programs: what it is given is run.
_LOADER = re.compile(r"ld(?:-linux.*|-musl.*|[0-9]*\.so.*)")

# By the program: the subcommands that run what comes after them.
SUBCOMMANDS: Mapping[str, frozenset[str]] = {
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
        "coverage": "run",
        "helm": "plugin",
        "terraform": "console",
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
    "go": ("-toolexec", "--toolexec", "-exec", "--exec", "-vettool", "--vettool"),
    "cargo": ("--config",),
    **dict.fromkeys(("rustc", "rustdoc"), ("-C", "--codegen", "-Z")),
    **dict.fromkeys(("apt", "apt-get", "apt-cache", "aptitude"), ("-o", "--option", "-c", "--config-file")),
    **dict.fromkeys(
        ("npm", "pnpm", "yarn"),
        (
            "--script-shell",
            "--git",
            "--editor",
            "--browser",
            "--viewer",
            "--shell",
            "--node-options",
            "--call",
        ),
    ),
    **dict.fromkeys(("pip", "uv", "virtualenv"), ("--python", "-p", "--editor")),
    **dict.fromkeys(("ar", "nm", "ranlib", "strip", "objdump", "size"), ("--plugin",)),
    "mypy": ("--python-executable",),
    "pyright": ("--pythonpath", "-p", "--project"),
    "pylint": ("--init-hook", "--load-plugins"),
    "pandoc": ("--filter", "-F", "--lua-filter", "-L", "--pdf-engine"),
    "helm": ("--post-renderer",),
    **dict.fromkeys(("bat", "batcat", "ag", "ack", "delta"), ("--pager",)),
    "aria2c": ("--on-",),
    **dict.fromkeys(("youtube-dl", "yt-dlp"), ("--exec", "--downloader", "--external-downloader")),
    **dict.fromkeys(("rclone", "restic", "borg"), ("--password-command", "--rsh", "-o", "--option")),
    "tcpdump": ("-z",),
    "ssh-keygen": ("-D", "-P"),
    **dict.fromkeys(
        ("cc", "gcc", "g++", "c++", "clang", "clang++", "gfortran", "cpp", "c89", "c99"),
        ("-wrapper", "-fplugin", "-specs", "--specs", "-B", "-Xclang", "@"),
    ),
}
# The same for options of one letter, which may stand among others.
_LETTERS = {
    "fd": re.compile("-[A-Za-z]*[xX]"),
    "fdfind": re.compile("-[A-Za-z]*[xX]"),
    "patch": re.compile("-[A-Za-z]*e"),
    "wget": re.compile("-[A-Za-z]*e"),
}
FIND_ACTIONS = ("-exec", "-ok", "-delete", "-fprint", "-fls")
_GIT_LONG_OPTIONS = (
    "--config-env", "--exec-path", "--exec", "--ext-diff", "--textconv", "--upload-pack", "--receive-pack",
    "--open-files-in-pager", "--upload-archive", "--git-dir", "--work-tree", "--namespace", "--paginate",
)  # fmt: skip
_GIT_BY_VERB = {
    **dict.fromkeys(("diff", "log", "show", "blame"), ("--ext-diff", "--textconv")),
    **dict.fromkeys(("fetch", "pull", "clone", "ls-remote"), ("--upload-pack",)),
    "push": ("--receive-pack",),
    "clone": ("--upload-pack", "-u"),
    "archive": ("--exec",),
    "grep": ("--open-files-in-pager",),
}
_GIT_VERBS = (
    "bisect filter-branch rebase submodule difftool mergetool config send-email daemon instaweb merge-index hook "
    "shell remote-ext for-each-repo credential credential-cache web--browse gui citool svn p4 cvsserver imap-send"
)
_GIT_RUNNING = frozenset(_GIT_VERBS.split())
_GIT_CLONE_COMMAND = re.compile("-[A-Za-z]*u")


def runs_another(words: Sequence[str]) -> bool:
    """Whether the command may run another one that its first words do not name."""
    name = posixpath.basename(words[0])
    if _LOADER.fullmatch(name):
        return True
    return any(_runs_another(known, words[1:]) for known in names_of(name))


def names_of(name: str) -> set[str]:
    """`name`, and what it is called without a version, a machine or a variant."""
    plain = _SUFFIXED.sub("", _PREFIXED.sub("", name))
    return {name, plain, plain.partition(".")[0]} - {""}


def _runs_another(name: str, arguments: Sequence[str]) -> bool:
    if name in _NAMES:
        return True
    if name in SUBCOMMANDS and any(argument in SUBCOMMANDS[name] for argument in arguments):
        return True
    if name in _OPTIONS and any(_is_option(argument, _OPTIONS[name]) for argument in arguments):
        return True
    if name in _LETTERS and any(_LETTERS[name].match(argument) for argument in arguments):
        return True
    if name == "find":
        return any(argument.startswith(FIND_ACTIONS) for argument in arguments)
    if name == "printf":
        return any(argument.startswith("-") for argument in arguments[:1])
    return name == "git" and _git_runs_another(arguments)


def running_parts(words: Sequence[str]) -> tuple[str, ...]:
    """The options and subcommands by which what begins with `words`, and is not opaque itself, runs others."""
    name = words[0]
    if name == "git":
        return _GIT_BY_VERB.get(words[1], ()) if len(words) > 1 else ("-c", *sorted(_GIT_RUNNING))
    if name == "find":
        return FIND_ACTIONS
    subcommands = () if len(words) > 1 else tuple(sorted(SUBCOMMANDS.get(name, ())))
    return (*_OPTIONS.get(name, ()), *subcommands)


def _is_option(argument: str, options: Sequence[str]) -> bool:
    """A long option may be cut short, and a value may stand right behind a letter."""
    if argument.startswith("--"):
        return len(argument) > 2 and _begins_one(argument.partition("=")[0], options)
    return any(argument.startswith(option) for option in options if not option.startswith("--"))


def _git_runs_another(arguments: Sequence[str]) -> bool:
    """An option before git's verb changes what git is; git also takes any prefix of a long option's name."""
    if arguments and arguments[0].startswith("-") and arguments[0] != "--version":
        return True
    if arguments and arguments[0] in _GIT_RUNNING:
        return True
    if arguments and arguments[0] == "clone" and any(map(_GIT_CLONE_COMMAND.match, arguments)):
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
