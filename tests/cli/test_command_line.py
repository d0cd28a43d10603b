"""The command line itself: help, version, slips, and the last border before a traceback; and the instruction of a run,
from there and from standard input."""

import argparse
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from bot import __version__
from bot.cli.main import VERBS, load_verb, run
from bot.cli.options import add_instruction, instruction_of
from bot.contracts.errors import UsageError
from tests.support import warm
from tests.support.programs import run_program
from tests.support.stage import CommandResult, command


def cli(*args: object, cwd: Path | None = None, **environment: str) -> CommandResult:
    """The program started from nothing."""
    done = warm.run_cold(command(*args), _environment(environment), cwd)
    return CommandResult(done.returncode, done.stdout, done.stderr)


def warm_cli(*args: object, cwd: Path | None = None, **environment: str) -> CommandResult:
    done = warm.run(command(*args), _environment(environment), cwd)
    return CommandResult(done.returncode, done.stdout, done.stderr)


def called(capsys: pytest.CaptureFixture[str], *words: str) -> CommandResult:
    """The command line in this process."""
    try:
        code = run(words)
    except SystemExit as ended:
        code = ended.code
    return CommandResult(code, *capsys.readouterr())


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LANG": "C.UTF-8", **more}


def test_version():
    assert cli("--version") == CommandResult(0, f"slash-agent {__version__}\n", "")


def test_the_version_imports_no_room():
    code = (
        "import sys; from bot.cli.main import run\n"
        "try: run(['--version'])\nexcept SystemExit: print(*sys.modules)"
    )
    done = run_program([sys.executable, "-P", "-c", code], check=True)
    ours = {name for name in done.stdout.split() if name.startswith("bot.")}
    cli = {"bot.cli", "bot.cli.main"}
    assert {name for name in ours if not name.startswith(("bot.verbs", "bot.contracts"))} == cli


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_each_verb_names_the_container_where_there_is_no_linux(
    platform: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys, "platform", platform)
    for verb in VERBS:
        assert run([verb, "--help"]) == 78
        said = capsys.readouterr().err
        assert said.startswith(f"slash-agent {verb}: ") and platform in said and "/container/" in said


def test_help_lists_every_verb_and_every_exit_code():
    shown = cli("--help").out
    for verb in VERBS:
        assert re.search(rf"^  {verb} ", shown, re.MULTILINE)
    for code in (
        "0 done",
        "2 usage",
        "3 refused",
        "6 publishing",
        "7 gate",
        "78 no sandbox",
        "130 cancelled",
    ):
        assert code in " ".join(shown.split())


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_has_examples_that_parse(verb: str, capsys: pytest.CaptureFixture[str]):
    ran = called(capsys, verb, "--help")
    assert ran.code == 0
    assert f"example: slash-agent {verb}" in ran.out
    module = load_verb(verb)
    examples = [line.strip() for line in module.EXAMPLE.splitlines()]
    assert examples
    for example in examples:
        parser = argparse.ArgumentParser(exit_on_error=False)
        module.configure(parser)
        program, named, *rest = shlex.split(example)
        assert (program, named) == ("slash-agent", verb)
        parser.parse_args(rest)


@pytest.mark.parametrize(
    ("verb", "meant"), [("fxi", "fix"), ("reveiw", "review"), ("dmeo", "demo"), ("xyz", "")]
)
def test_for_an_unknown_verb_the_nearest_is_named(capsys: pytest.CaptureFixture[str], verb: str, meant: str):
    ran = called(capsys, verb)
    assert ran.code == 2
    hint = f"; did you mean '{meant}'?" if meant else ""
    assert ran.err.splitlines()[-1] == f"slash-agent: error: there is no verb '{verb}'{hint}"


@pytest.mark.parametrize("money", ["lots", "-1", "0", "nan", "inf"])
def test_a_budget_that_is_no_amount_is_a_mistake(capsys: pytest.CaptureFixture[str], money: str):
    ran = called(capsys, "fix", f"--budget={money}", "x")
    assert ran.code == 2
    assert f"{money!r} is not an amount in USD" in ran.err


def test_an_internal_error_is_one_sentence_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def fail(arguments: argparse.Namespace) -> int:
        raise ZeroDivisionError("division by\n::add-mask::zero")

    monkeypatch.setattr("bot.cli.report.run", fail)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert run(["report", "x"]) == 1
    shown = capsys.readouterr().err
    assert "internal error, please report it: ZeroDivisionError: division by" in shown
    assert "Traceback" not in shown
    assert not [line for line in shown.splitlines() if line.startswith("::add-mask")]


@pytest.mark.parametrize(
    ("out", "unbuffered", "code", "said"),
    [
        ("nobody", "", 0, ""),
        pytest.param("nobody", "1", 0, "", marks=pytest.mark.slow),
        ("/dev/full", "", 75, "standard output cannot be written: No space left on device"),
        pytest.param("/dev/full", "1", 75, "No space left on device: free some disk space", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_what_cannot_be_written_out_is_said_where_somebody_would_read_it(
    tmp_path: Path, out: str, unbuffered: str, code: int, said: str
):
    (tmp_path / "agent.yml").write_text(json.dumps({"version": 1, "rules": []}))
    line = command("policy", "explain", "--file", "agent.yml", "--tier", "local", "ls", "{}")
    ours, theirs = os.pipe()
    os.close(ours)
    target = theirs if out == "nobody" else os.open(out, os.O_WRONLY)
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(
        line, cwd=tmp_path, env=environment, stdout=target, stderr=subprocess.PIPE, text=True, check=False
    )
    for descriptor in {target, theirs}:
        os.close(descriptor)
    assert (done.returncode, bool(done.stderr)) == (code, bool(said)), done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_an_error_that_quotes_a_secret_is_masked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """A setup command may print one."""
    secret = "Zq8vT2rWx5Ky7Lm3Nb4P"
    monkeypatch.setenv("FORGE_TOKEN", secret)
    assert run(["report", f"/nonexistent/{secret}/journal"]) == 2
    said = capsys.readouterr().err
    assert "/nonexistent/[redacted FORGE_TOKEN]/journal" in said
    assert secret not in said


# Completion


WORDS = [
    ("fix --bud", ["--budget"]),
    ("policy exp", ["explain"]),
    ("policy explain --ti", ["--tier"]),
    ("policy explain --tier ma", ["maintainer"]),
    ("skills list --fo", ["--for-model"]),
    ("completion z", ["zsh"]),
]


@pytest.mark.parametrize(("line", "offered"), [("", sorted(VERBS)), ("dem", ["demo"]), *WORDS])
def test_bash_completes_verbs_actions_options_and_values(line: str, offered: list[str], tmp_path: Path):
    script = tmp_path / "completion"
    script.write_text(cli("completion", "bash").out)
    words = ["slash-agent", *line.split(" ")]
    asked = (
        f'source {script}; set -- $(complete -p slash-agent | sed -n "s/.*-F \\([^ ]*\\).*/\\1/p") "$@"; '
        f'function=$1; shift; COMP_WORDS=("$@"); COMP_CWORD={len(words) - 1}; '
        '"$function" slash-agent "${COMP_WORDS[COMP_CWORD]}"; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = run_program(["bash", "-c", asked, "bash", *words], check=True)
    assert set(offered) <= set(done.stdout.split()), done.stderr
    assert not line or done.stdout.split() == offered


@pytest.mark.skipif(not shutil.which("fish"), reason="needs fish")
@pytest.mark.parametrize(("line", "offered"), [("dem", ["demo"]), *WORDS])
def test_fish_completes_the_same(line: str, offered: list[str], tmp_path: Path):
    script = tmp_path / "completion"
    script.write_text(cli("completion", "fish").out)
    asked = f'source {script}; complete -C "slash-agent {line}"'
    done = run_program(["fish", "--no-config", "-c", asked], check=True)
    assert [row.split("\t")[0] for row in done.stdout.splitlines()] == offered


@pytest.mark.skipif(not shutil.which("zsh"), reason="needs zsh")
def test_zsh_takes_the_script(tmp_path: Path):
    script = tmp_path / "_slash-agent"
    script.write_text(cli("completion", "zsh").out)
    asked = f"fpath=({tmp_path} $fpath); autoload -U compinit && compinit -u; print ${{_comps[slash-agent]}}"
    done = run_program(["zsh", "-f", "-c", asked], check=True, cwd=tmp_path)
    assert "slash" in done.stdout


@pytest.fixture(autouse=True)
def own_standard_input() -> Iterator[None]:
    saved = os.dup(0)
    yield
    os.dup2(saved, 0)
    os.close(saved)


def read(*words: str) -> str:
    parser = argparse.ArgumentParser()
    add_instruction(parser, "what to do")
    return instruction_of(parser.parse_args(words))


def pipe(data: bytes) -> None:
    reader, writer = os.pipe()
    os.dup2(reader, 0)
    os.close(reader)
    os.write(writer, data)
    os.close(writer)


@pytest.mark.parametrize(
    ("words", "data", "instruction"),
    [
        (["-"], b"fix the parser\n", "fix the parser"),
        ([], b"fix the parser\n", "fix the parser"),
        (["fix it"], b"E: line 3\n", "fix it\n\nFrom standard input, as context:\nE: line 3"),
        (["fix it"], b"", "fix it"),
        ([], b" \n", ""),
        (["-"], b"caf\xe9", "caf\ufffd"),
        (["  "], b"fix it", "fix it"),
    ],
)
def test_a_pipe_is_the_instruction_or_its_context(words: list[str], data: bytes, instruction: str):
    pipe(data)
    assert read(*words) == instruction


def test_a_file_is_read_as_a_pipe_is(tmp_path: Path):
    (tmp_path / "request").write_text("fix the parser")
    file = os.open(tmp_path / "request", os.O_RDONLY)
    os.dup2(file, 0)
    os.close(file)
    assert read() == "fix the parser"


def test_what_holds_no_text_is_not_waited_for():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        os.dup2(theirs.fileno(), 0)
        assert read("fix it") == "fix it"
    os.close(0)
    assert read("fix it") == "fix it"
    os.open(os.devnull, os.O_RDONLY)
    assert read("fix it") == "fix it"


def test_a_dash_without_input_is_an_error():
    pipe(b"")
    with pytest.raises(UsageError, match="Standard input is empty"):
        read("-")


def test_too_much_is_refused_before_the_model_is_paid(tmp_path: Path):
    (tmp_path / "log").write_bytes(b"x" * 300_000)
    file = os.open(tmp_path / "log", os.O_RDONLY)
    os.dup2(file, 0)
    os.close(file)
    with pytest.raises(UsageError, match="over 256 KiB"):
        read("fix it")
