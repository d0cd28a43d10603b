"""Commands that run other commands.

For rules that deny or ask, whatever may be a command counts as one. A name that is put together at run time, a script
and a program's own language are not covered; of the options by which a program runs another only those in `_OPTIONS`.
"""

import posixpath
import re

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
_RUNNING_OTHERS = frozenset(
    f"{_SHELLS} {_INTERPRETERS} {_SCRIPTABLE} {_WRAPPERS} {_BUILTINS} {_RESERVED}".split()
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
# What these run stands among their arguments; an interpreter's is in a language or a file of its own.
_CARRIERS = frozenset(
    f"{_SHELLS} {_WRAPPERS} {_RESERVED} {_RUN_BY_VERB} find eval exec command builtin coproc trap alias".split()
)
_RUNNERS, _VERBS = frozenset(_RUN_BY_VERB.split()), frozenset(_VERB_NAMES.split())
# Of any program.
_OPTION_NAMES = (
    "-wrapper -fplugin -specs -toolexec --toolexec -vettool --vettool --exec --exec-batch --pager --ext-diff "
    "--textconv --upload-pack --compress-program --init-hook --script-shell"
)
_OPTIONS = frozenset(_OPTION_NAMES.split())
_FIND_ACTIONS = ("-exec", "-ok", "-delete", "-fprint", "-fls")

# `python3.12-dbg`, `gawk-5.1`, `vim.tiny`: another name of the same program.
_VARIANT = re.compile(r"-?[0-9].*|\..*")
# The dynamic loader runs its first argument.
_LOADER = re.compile(r"ld(?:-linux.*|-musl.*|[0-9]*\.so.*)")


def runs_another(words: Words) -> bool:
    """Whether the command may run another program."""
    names, arguments = _names_of(words), words[1:]
    first = "".join(arguments[:1])
    return (
        any(map(_LOADER.fullmatch, names))
        or not names.isdisjoint(_RUNNING_OTHERS)
        or not _OPTIONS.isdisjoint(one.partition("=")[0] for one in arguments)
        or (not names.isdisjoint(_RUNNERS) and not _VERBS.isdisjoint(arguments[:3]))
        or ("find" in names and any(one.startswith(_FIND_ACTIONS) for one in arguments))
        or (not names.isdisjoint({"git", "printf"}) and first.startswith("-") and first != "--version")
    )


def carries_commands(words: Words) -> bool:
    """Whether the arguments may be, or contain, commands of a shell."""
    return runs_another(words) and not _names_of(words).isdisjoint(_CARRIERS)


def _names_of(words: Words) -> set[str]:
    """Return the program's name, and that without a version or a variant."""
    name = posixpath.basename(words[0])
    return {name, _VARIANT.sub("", name)}
