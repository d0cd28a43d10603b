"""Which commands are asked where they end, against bash itself."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from bot.toolhost.working_folder import _OWN, may_move

_PIECES = (
    "cd", "c", "d", "sub", "..", "-", " ", " ", " ", ";", "&&", "|", "&", "\n", "\\", "\\\n", '"', "'", '""', "''",
    "$x", "x=cd", "x=c", "${x}d", "$'\\143d'", "`echo cd`", "$(echo cd)", "[c]d", "?d", "c*", "{c,}d", "@(c)d", "~",
    ".", " . ", "go", "source", "eval", "builtin", "command", "pushd", "popd", "true", "then", "if", "fi", "!", "(",
    ")", "exec", "time", "<<<", "<go", ">new", "2>&1", "#", "shopt -s extglob", "trap", "EXIT", "alias", "fc", "env",
    "a=b",
)  # fmt: skip

_LETTERS = ("c", "d", "c", "d", "cd", '"c"', "'d'", "\\d", '""', "\\\n", "[c]", "?", "{c,}", "$'\\143'", "$x")


@pytest.mark.parametrize(
    "command",
    [
        "true", "git status", "pytest -q tests/test_a.py", "FOO=1 make -j2 test",
        "git commit -qm 'say so' && git log -1", "ls -la | head -3", "cat <<E\nsome text\nE", "ls ./src/.",
        "grep -n \"def main\" src/app.py 2>&1 > out.txt; true",
        "sed -i 's/a/b/' *.py", "ls src/*.py ~/x", 'echo "$HOME" ${TMPDIR}/a', "rg -n 'a[bc]{2}' {src,tests}",
        "grep -rn cd . | wc -l", "find . -name '*.py'", "cat a 2>/dev/null", "git commit -m 'add cd and source'",
        "python -c 'import app' || true # why", "cargo test --all-targets --features=a,b", "go test ./...",
    ],
)  # fmt: skip
def test_most_commands_cannot_change_the_folder(command: str) -> None:
    assert not may_move(command)


@pytest.mark.parametrize(
    "command",
    [
        "cd sub", "true && cd sub", '"c"d sub', "c'd' sub", "\\cd sub", "c\\\nd sub", "builtin cd sub", "x=cd; $x sub",
        "$'\\143d' sub", "`echo cd` sub", "[c]d sub", "{c,}d sub", "eval \"c\"'d' sub", ". ./go", "true;. ./go",
        "command . ./go", '"." ./go', "source ./go", "trap 'cd sub' DEBUG; true; true", "pushd sub",
        "f() { cd sub; }; f",
        "shopt -s expand_aliases; alias x='cd'\nx sub", "set -o history\nhistory -s zzd sub\nfc -s zz=c",
        "enable -f ./moves.so moves; moves", ".</dev/null ./go", "true;.>new ./go", ".&>new ./go", '"."<<<x ./go',
        "mapfile -C eval -c 1 <go", "readarray -c 1 -C eval <go", "shopt -s expand_aliases\nread BASH_ALIASES <go\n0",
        "set -o posix\nalias p=.\np ./go", "set -o posix\nBASH_ALIASES=c\nBASH_ALIASES+='d sub'\n0",
        "$'c'd sub", ">x cd sub", "2>x cd sub", "2>&1 cd sub", "a='x ls ' cd sub", "a=\"x\" cd sub", "! cd sub",
        "{ cd sub; }", "if true; then cd sub; fi", "time cd sub", "x=1\ncd sub", "true &&\tcd sub", "true\\\n;cd sub",
        "#\ncd sub", "true #\ncd sub", "BASH_ALIASES=c", "true ${ cd sub; }", "true ${|cd sub; }", "true ${x:=cd}",
        "true ${a:=$}${b:=$'{ cd sub\\n}'}; true ${c:=$a$b}; true ${c@P}", "true $[x]", "coproc cd sub",
        "set -o posix\nprintf -v x BASH_%s ALIASES\ndeclare -n r\nread r <x",
    ],
)  # fmt: skip
def test_what_can_change_it_is_asked(command: str) -> None:
    assert may_move(command)


def test_every_builtin_and_word_of_the_grammar_is_known() -> None:
    told = subprocess.run(
        ["bash", "-c", "compgen -b; compgen -k"], capture_output=True, text=True, check=True
    )
    harmless = {"echo", "exit", "false", "pwd", "test", "true"}
    no_names = {"[", "[[", "]]", "{", "}", "!"}  # no command is taken to begin with one of these
    assert set(told.stdout.split()) - _OWN == harmless | no_names


def test_no_command_that_bash_ends_elsewhere_is_left_unasked(tmp_path: Path) -> None:
    start = tmp_path / "start"
    (start / "sub").mkdir(parents=True)
    (start / "cd").touch()
    (start / "go").write_text("cd sub\n")
    choose = random.Random(20261123)
    moved = unasked = 0
    for _ in range(300):
        command = "".join(choose.choices(_PIECES, k=choose.randint(0, 5)))
        if choose.random() < 0.5:
            word = "".join(choose.choices(_LETTERS, k=choose.randint(1, 4)))
            command = f"{command}{choose.choice((';', ' ', ''))}{word} sub"
        if may_move(command) and choose.random() < 0.7:
            continue  # it is asked anyway; some are run to see that the pieces do move
        ended = _ended_in(command, start, tmp_path / "note")
        moved += ended != str(start)
        unasked += not may_move(command)
        assert may_move(command) or ended == str(start), command
    assert moved
    assert unasked > 30


def _ended_in(command: str, start: Path, note: Path) -> str:
    """As the exit trap of the shell says; the folder in which it began where there is none any more."""
    note.write_text(f"{start}\n")
    trap = note.with_name("trap.sh")
    trap.write_text(f"unset BASH_ENV; trap 'pwd -P >>{note}' EXIT\n")
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(start.parent), "BASH_ENV": str(trap)}
    subprocess.run(
        ["bash", "-c", command], cwd=start, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
        timeout=20, check=False,
    )  # fmt: skip
    return note.read_text().splitlines()[-1]
