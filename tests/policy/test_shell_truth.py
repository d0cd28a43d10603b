"""The shell grammar against real bash: what a command runs is learnt by running it with a fake `curl`.

The grammar may call any of them opaque; what it calls simple must name exactly the commands that run. One row that it
calls simple and gets wrong is a rule that `allow`s what nobody allowed.
"""

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.policy.shell import parse_shell
from tests.policy.shell_rows import LOOKING, PLAIN, RUNNING
from tests.support.files import write_file

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="bash is not here")

# Programs that some rows need, and a machine may lack.
PROGRAMS = (
    *(
        "cmake", "cpp", "ed", "bc", "gcc", "gdb", "git", "less", "linux64", "m4", "make", "node", "perl",
        "prove", "python3", "script", "sdiff",
    ),
    *("ssh-agent", "vim", "vimdiff", "zip"),
)  # fmt: skip


def _here(command: str) -> bool:
    first = command.split()[0] if command.strip() else ""
    return first not in PROGRAMS or shutil.which(first) is not None


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bool]:
    """Each row with whether it ran `curl evil` here."""
    folder = tmp_path_factory.mktemp("truth")
    curl = folder / "curl"
    write_file(curl, '#!/bin/sh\necho "$@" >> "$RAN"\n', 0o755)
    rows = [command for command in (*RUNNING, *LOOKING) if _here(command)]
    places = [folder / str(number) for number in range(len(rows))]
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(rows, pool.map(_runs_curl, rows, places), strict=True))


def _runs_curl(command: str, folder: Path) -> bool:
    folder.mkdir()
    ran = folder / "ran"
    environment = {"PATH": f"{folder.parent}:{os.environ['PATH']}", "RAN": str(ran), "LC_ALL": "C.UTF-8"}
    subprocess.run(
        [str(BASH), "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return ran.exists() and "evil" in ran.read_text()


def test_each_row_really_runs_what_it_is_said_to(truth: dict[str, bool]):
    assert [command for command, ran in truth.items() if ran != (command in RUNNING)] == []
    assert sum(truth.values()) >= 72


def test_what_the_grammar_calls_simple_runs_what_it_names(truth: dict[str, bool]):
    wrong = []
    for command, ran in truth.items():
        simple = parse_shell(command).simple
        if simple is not None and any(words[0] == "curl" for words in simple) != ran:
            wrong.append(command)
    assert wrong == []


def test_what_hides_its_command_is_opaque():
    """All but the rows in which `curl` stands as a word of its own, quoted or not."""
    simple = {command for command in RUNNING if parse_shell(command).simple is not None}
    assert all("curl" in shlex.split(command, comments=True) for command in simple)
    assert len(simple) < 20


@pytest.mark.parametrize("command", PLAIN)
def test_everyday_commands_are_proven_simple(command: str):
    assert parse_shell(command).simple == PLAIN[command]


def run_by_bash(command: str, folder: Path, programs: Iterable[str]) -> str:
    """What programs of these names are started with: their names and words, each with a zero behind it."""
    for name in programs:
        # One write for each call: the ends of a pipeline run at the same time.
        write_file(folder / name, '#!/bin/bash\nprintf "%s\\0" "${0##*/}" "$@" "end" >> "$RAN"\n', 0o755)
    ran = folder / "ran"
    ran.write_bytes(b"")
    environment = {"PATH": f"{folder}:/usr/bin:/bin", "RAN": str(ran), "LC_ALL": "C.UTF-8"}
    subprocess.run([str(BASH), "-c", command], cwd=folder, env=environment, timeout=120, check=False)
    return ran.read_text()


@pytest.mark.parametrize("command", PLAIN)
def test_words_are_what_bash_hands_to_the_program(command: str, tmp_path: Path):
    shadowed = command
    for builtin in ("echo", "pwd"):
        shadowed = shadowed.replace(f"{builtin} ", f"{tmp_path}/{builtin} ").replace(
            f"{builtin}\n", f"{tmp_path}/{builtin}\n"
        )
    said = run_by_bash(shadowed, tmp_path, [words[0] for words in PLAIN[command]])
    calls = sorted(tuple(call.split("\0")) for call in said.removesuffix("\0end\0").split("\0end\0"))
    assert calls == sorted(PLAIN[command])


PIECES = [
    *["a", "b", "x", "-y", "1", "ab", "'", '"', " ", " ", " ", "\t", ";", "\n", "&&", "=", "a=", "/", "@", "%", ":"],
    *[".", "^", "#", "+=", "[1]", "!", "~", "{", "}", "*", "?", "\\", "<", ">", "1>", "\u00e9", "\u3000", "\u2003"],
    *["(", ")", "$", "$(", "`", "|", "||", "&", "if ", "fi", "time ", "\\\n", "a()", "[[", "]]", "\U0001f600"],
]  # fmt: skip


def hold(pieces: Sequence[str], folder: Path) -> None:
    """A line that is proven simple runs just these words, in bash, with `a` and `b` as programs that say theirs."""
    command = "a " + "".join(pieces)
    simple = parse_shell(command).simple
    if simple is None or any(words[0] not in ("a", "b") for words in simple) or "|" in command:
        return
    expected = "".join(f"{word}\0" for words in simple for word in (*words, "end"))
    assert run_by_bash(command, folder, ("a", "b")) == expected, command


@settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=14))
def test_any_line_that_is_proven_simple_runs_with_just_these_words(tmp_path: Path, pieces: list[str]):
    hold(pieces, tmp_path)
