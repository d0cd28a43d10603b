"""Commands that run other commands: recognise them, and find the commands and shell texts in their words.

For rules that deny or ask, whatever may be a command counts as one. A name that is put together at run time, a script
and a program's own language are not covered; of the options by which a program runs another only those in `_OPTIONS`.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence

Words = tuple[str, ...]

_SHELLS = "sh ash bash csh dash fish ksh mksh rbash tcsh zsh busybox toybox pwsh"
_INTERPRETERS = (
    "python pypy ipython node nodejs deno bun tsx ts-node ruby irb perl php lua luajit tclsh expect R Rscript "
    "osascript java jshell groovy scala kotlin swift julia octave gnuplot guile racket sbcl erl elixir iex ghci runghc "
    "ocaml sqlite3 psql mysql redis-cli mongosh"
)
_SCRIPTABLE = (
    "awk gawk mawk nawk sed ed ex vi view vim nvim emacs nano less more man info m4 bc dc gdb lldb valgrind perf "
    "rr make gmake bmake remake ninja cmake ctest samu just rake invoke task mage tar cpio rsync nc ncat netcat socat "
    "ftp lftp sftp telnet run-parts at batch crontab tmux screen zellij byobu dtach rview rvim vimdiff gvim evim pico "
    "joe jmacs editor sensible-editor sensible-pager pager xdg-open run-mailcap see open emacsclient bpftrace "
    "prove perldoc ansible ansible-console salt-call puppet chef-apply fab hyperfine nodemon pm2 latex pdflatex "
    "xelatex lualatex tex pdftex gs gpg-agent debconf dpkg-architecture sotruss radare2 r2 rpm pre-commit "
    "chromium google-chrome split install sdiff diff3 zip"
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
# Reserved words: a command with such a name was parsed wrongly.
_RESERVED = "if then elif else fi for while until do done case esac select in time ! { }"
_TEXT_SHELLS = frozenset(_SHELLS.split()) - {"busybox", "toybox"}
# After these comes a command, preceded by their own options and, for some, one argument.
_PREFIXES = frozenset(f"{_WRAPPERS} {_RESERVED} builtin command exec coproc busybox toybox".split())
_TAKING_A_WORD = (
    "flock chroot gosu su-exec su sg taskset setarch runcon ssh sshpass nsenter cpulimit schroot proot coproc"
)
_PREFIXES_WITH_ARGUMENT = frozenset(_TAKING_A_WORD.split())
_RUNNING_OTHERS = frozenset(
    " ".join([_SHELLS, _INTERPRETERS, _SCRIPTABLE, _WRAPPERS, _BUILTINS, _RESERVED]).split()
)
# These run what follows one of the verbs, which is one of the first arguments.
_RUN_BY_VERB = (
    "npm pnpm yarn poetry pdm hatch conda mamba coverage uv pipenv pyenv rbenv bundle gem composer cargo go dotnet "
    "mise bazel stack cabal nix docker podman kubectl mix helm terraform gh ip git"
)
_VERB_NAMES = (
    "run run-script exec dlx explore tool generate fsi script shell develop compose debug eval cmd do console plugin "
    "alias extension netns vrf config bisect filter-branch rebase submodule difftool mergetool send-email hook"
)
_NEAR = 3
_RUNNERS, _VERBS = frozenset(_RUN_BY_VERB.split()), frozenset(_VERB_NAMES.split())
# Of any program.
_OPTION_NAMES = (
    "-wrapper -fplugin -specs -toolexec --toolexec -vettool --vettool --exec --exec-batch --pager --ext-diff "
    "--textconv --upload-pack --compress-program --init-hook --script-shell"
)
_OPTIONS = frozenset(_OPTION_NAMES.split())
_FIND_ACTIONS = ("-exec", "-ok", "-delete", "-fprint", "-fls")

# `gcc-12`, `perl5.36-x86_64-linux-gnu`, `x86_64-linux-gnu-gcc`, `vim.tiny`: another name of the same program.
_MACHINE = r"[a-z0-9_]+-(?:[a-z]+-)?(?:linux|elf|musl|w64|pc|apple|darwin)[a-z0-9_-]*?"
_PREFIXED = re.compile(rf"\A{_MACHINE}-(?=[a-z+]+(?:-[0-9.]+)?\Z)")
_SUFFIXED = re.compile(rf"[-.]?[0-9][0-9.]*(?:-dbg|-{_MACHINE})?\Z")
# The dynamic loader runs its first argument.
_LOADER = re.compile(r"ld(?:-linux.*|-musl.*|[0-9]*\.so.*)")


def runs_another(words: Sequence[str]) -> bool:
    """Whether the command may run another program."""
    name, arguments = posixpath.basename(words[0]), words[1:]
    if _LOADER.fullmatch(name) or not _OPTIONS.isdisjoint(one.partition("=")[0] for one in arguments):
        return True
    return any(_runs_another(known, arguments) for known in _names_of(name))


def _names_of(name: str) -> set[str]:
    """Return `name`, and `name` without a version, a machine triplet or a variant."""
    plain = _SUFFIXED.sub("", _PREFIXED.sub("", name))
    return {name, plain, plain.partition(".")[0]} - {""}


def _runs_another(name: str, arguments: Sequence[str]) -> bool:
    match name:
        case "find":
            return any(argument.startswith(_FIND_ACTIONS) for argument in arguments)
        case "printf":
            return any(argument.startswith("-") for argument in arguments[:1])
        case "git" if arguments and arguments[0].startswith("-") and arguments[0] != "--version":
            return True
    return name in _RUNNING_OTHERS or _after_verb(name, arguments) > 0


def _after_verb(name: str, arguments: Sequence[str]) -> int:
    """Return the index of the argument after the verb that runs it; 0 without such a verb."""
    near = arguments[:_NEAR] if name in _RUNNERS else ()
    return next((at for at, word in enumerate(near, 1) if word in _VERBS), 0)


_SHELL_TEXT = re.compile(r"[\s;&|<>()$`{}]")
_NUMBER = re.compile(r"[0-9.]+[a-z]?")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


def inner_commands(words: Words) -> Iterator[Words]:
    """Yield the words of possible commands in the words of another one."""
    name, rest = _name(words), words[1:]
    if name in _PREFIXES:
        yield from (rest[at:] for at in _beginnings(rest, name in _PREFIXES_WITH_ARGUMENT))
    elif name == "find":
        yield from (rest[at + 1 :] for at, word in enumerate(rest) if word.startswith(_FIND_ACTIONS))
    elif begin := _after_verb(name, rest):
        yield from (rest[begin + at :] for at in _beginnings(rest[begin:], takes_a_word=True))


def inner_shell_texts(words: Words) -> Iterator[str]:
    """Yield possible shell texts in the words of a command."""
    name, rest = _name(words), words[1:]
    if name == "eval":
        yield " ".join(rest)
    elif name == "trap":
        yield from rest[:1]
    elif name in _TEXT_SHELLS:
        yield from (word for word in rest if not word.startswith(("-", "+")))
    elif name == "alias":
        yield from (word.partition("=")[2] for word in rest)
    elif name in _PREFIXES or _after_verb(name, rest):
        texts = [word for word in rest if _SHELL_TEXT.search(word)]
        yield from (word.partition("=")[2] if word.startswith("-") else word for word in texts)
    elif name == "git":
        yield from (word.partition("!")[2] for word in rest if "=!" in word)


def _name(words: Words) -> str:
    name = posixpath.basename(words[0])
    return min(_names_of(name), key=len, default=name)


def _beginnings(words: Sequence[str], takes_a_word: bool) -> Iterator[int]:
    """Yield where among the words after a wrapper its command may begin: a word after an option may be its value."""
    doubt = takes_a_word
    for at, word in enumerate(words):
        if word.startswith("-"):
            doubt = doubt or ("=" not in word and word != "--")
        elif not _NUMBER.fullmatch(word) and not _ASSIGNMENT.match(word):
            yield at
            if not doubt:
                return
            doubt = False
