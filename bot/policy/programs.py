"""Programs as data for the rules about commands: which of them run others, by which subcommands and options."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bot.ecosystems.registry import ecosystems

_SHELLS = "sh ash bash csh dash fish ksh mksh rbash tcsh zsh busybox toybox pwsh"
_INTERPRETERS = (
    "python pypy ipython node nodejs deno bun tsx ts-node ruby irb perl php lua luajit tclsh expect R Rscript "
    "osascript java jshell groovy scala kotlin swift julia octave gnuplot guile racket sbcl erl elixir iex ghci runghc "
    "ocaml sqlite3 psql mysql redis-cli mongosh"
)
_SCRIPTABLE = (
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
# Reserved words: a command with such a name was parsed wrongly.
_RESERVED = "if then elif else fi for while until do done case esac select in time ! { }"
SHELLS = frozenset(_SHELLS.split()) - {"busybox", "toybox"}
# After these comes a command, preceded by their own options and, for some, one argument.
PREFIXES = frozenset(f"{_WRAPPERS} {_RESERVED} builtin command exec coproc busybox toybox".split())
_TAKING_A_WORD = (
    "flock chroot gosu su-exec su sg taskset setarch runcon ssh sshpass nsenter cpulimit schroot proot coproc"
)
PREFIXES_WITH_ARGUMENT = frozenset(_TAKING_A_WORD.split())
RUNNING_OTHERS = frozenset(
    " ".join([_SHELLS, _INTERPRETERS, _SCRIPTABLE, _WRAPPERS, _BUILTINS, _RESERVED]).split()
)
_APT, _FD, _SECRETS = (
    "-o --option -c --config-file",
    "-x -X --exec --exec-batch",
    "--password-command --rsh -o --option",
)
_RUNS: Mapping[str, str] = {
    "mise": "exec x run",
    "helm": "plugin --post-renderer",
    "terraform": "console",
    "mix": "run eval cmd do",
    "stack": "exec run runghc",
    "cabal": "exec run",
    "nix": "run shell develop",
    "docker": "run exec compose",
    "podman": "run exec compose",
    "kubectl": "exec run debug",
    "gh": "alias extension codespace",
    "ip": "netns vrf",
    "openssl": "engine -engine -provider -provider-path",
    "sort": "--compress-program",
    "split": "--filter",
    "install": "--strip-program",
    "diff3": "--diff-program",
    "sdiff": "--diff-program",
    "rg": "--pre --hostname-bin",
    "fd": _FD,
    "fdfind": _FD,
    "zip": "-TT --unzip-command",
    "wget": "-e --execute --use-askpass",
    "patch": "-e --ed",
    "svn": "--diff-cmd --diff3-cmd --editor-cmd --config-option --config-dir",
    "hg": "--config --cwd -R --repository",
    "xmllint": "--shell",
    "gpg": "--photo-viewer --exec-path --keyserver-options",
    **dict.fromkeys(("apt", "apt-get", "apt-cache", "aptitude"), _APT),
    "pandoc": "--filter -F --lua-filter -L --pdf-engine",
    **dict.fromkeys(("bat", "batcat", "ag", "ack", "delta"), "--pager"),
    "aria2c": "--on-",
    **dict.fromkeys(("youtube-dl", "yt-dlp"), "--exec --downloader --external-downloader"),
    **dict.fromkeys(("rclone", "restic", "borg"), _SECRETS),
    "tcpdump": "-z",
    "ssh-keygen": "-D -P",
}
_TABLES = (_RUNS, *(one.runs for one in ecosystems()))
RUNNING_SUBCOMMANDS: Mapping[str, frozenset[str]] = {
    name: frozenset(word for word in words.split() if word[0] not in "-@")
    for table in _TABLES
    for name, words in table.items()
}
"""By program: the subcommands that run the words after them."""

RUNNING_OPTIONS: Mapping[str, tuple[str, ...]] = {
    name: tuple(word for word in words.split() if word[0] in "-@")
    for table in _TABLES
    for name, words in table.items()
}
"""By program: the options that name a command, or a file of commands. Programs accept any unambiguous prefix of a long
option, so a prefix counts, too."""

# The same for one-letter options, which may be combined with others.
RUNNING_LETTERS = {
    "fd": re.compile("-[A-Za-z]*[xX]"),
    "fdfind": re.compile("-[A-Za-z]*[xX]"),
    "patch": re.compile("-[A-Za-z]*e"),
    "wget": re.compile("-[A-Za-z]*e"),
}
FIND_ACTIONS = ("-exec", "-ok", "-delete", "-fprint", "-fls")
_GIT_LONG_OPTIONS = (
    "--config-env --exec-path --exec --ext-diff --textconv --upload-pack --receive-pack --open-files-in-pager "
    "--upload-archive --git-dir --work-tree --namespace --paginate"
)
GIT_LONG_OPTIONS = tuple(_GIT_LONG_OPTIONS.split())
_GIT_VERBS = (
    "bisect filter-branch rebase submodule difftool mergetool config send-email daemon instaweb merge-index hook "
    "shell remote-ext for-each-repo credential credential-cache web--browse gui citool svn p4 cvsserver imap-send"
)
GIT_RUNNING_VERBS = frozenset(_GIT_VERBS.split())
GIT_TAKING_SHELL_TEXT = frozenset({"rebase", "submodule", "filter-branch", "bisect"})
"""Git's verbs that run an argument as a shell command."""
# For `bot.policy.dangerous`.
PIPE_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "python", "python3", "perl", "ruby", "node"})
HARMLESS_DEVICES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
GIT_OPTIONS_WITH_ARGUMENT = frozenset({"-c", "-C", "--git-dir", "--work-tree"})
