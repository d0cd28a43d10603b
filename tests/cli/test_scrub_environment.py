"""A command that was given secrets begins again without them, and nothing about it changes but that."""

import ast
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bot
from tests.support.programs import run_program

_SHOW = """
import json, os, sys
from bot.cli.scrub_environment import restart_without_secrets
restart_without_secrets(sys.argv[1:])
import ctypes, resource
with open("/proc/self/environ", errors="replace") as file:
    started_with = file.read()
print(json.dumps({
    "environment": dict(os.environ), "started_with": started_with, "argv": sys.argv, "flags": sys.flags.safe_path,
    "core": resource.getrlimit(resource.RLIMIT_CORE)[0], "dumpable": ctypes.CDLL(None).prctl(3, 0, 0, 0, 0),
    "open": [name for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")],
    "read": sys.stdin.read(),
}))
"""
_SECRETS = {
    "GITHUB_TOKEN": "ghs_canary0a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6e",
    "HTTPS_PROXY": "http://me:canary-of-the-proxy@proxy.internal:3128",
    "PYTHON_TOKEN": "canary-python-51c0",
    "UNSUSPICIOUS": "canary-plain-8812acbd",
    "NOT_ASCII": "canary-ä-\udcff=\n=",
}


def shown(*arguments: str, **environment: str) -> Any:
    done = run_program(
        [sys.executable, "-P", "-c", _SHOW, *arguments],
        env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONPATH": _ROOT, **environment},
        input="from standard input",
        timeout=60,
        check=True,
    )
    return json.loads(done.stdout)


_ROOT = str(Path(bot.__file__).parent.parent)


def test_a09_what_the_process_was_started_with_holds_no_secret():
    """A-09: `/proc/self/environ` of the supervisor."""
    seen = shown("run", "--event", "x", **_SECRETS)
    assert "canary" not in seen["started_with"]
    assert "PATH=" in seen["started_with"]
    assert {name: seen["environment"][name] for name in _SECRETS} == _SECRETS


def test_it_can_be_neither_dumped_nor_traced_and_keeps_no_pipe():
    seen = shown("run", **_SECRETS)
    assert (seen["dumpable"], seen["core"]) == (0, 0)
    assert sorted(seen["open"]) == ["0", "1", "2"]
    assert "SLASH_AGENT_PIPE" not in seen["environment"]


def test_arguments_flags_and_standard_input_are_the_same():
    seen = shown("fix", "do it, ümlaut", **_SECRETS)
    assert seen["argv"][1:] == ["fix", "do it, ümlaut"]
    assert seen["flags"] is True
    assert seen["read"] == "from standard input"


@pytest.mark.parametrize("arguments", [["policy", "check"], ["--version"], []])
def test_a_command_that_uses_no_secret_is_not_restarted(arguments: list[str]):
    seen = shown(*arguments, **_SECRETS)
    assert seen["started_with"].count("\0") == 3 + len(_SECRETS)
    assert seen["dumpable"] == 1


def test_a_large_environment_passes():
    large = {f"LARGE_{number}": "x" * 100_000 for number in range(8)}
    seen = shown("run", GITHUB_TOKEN="ghs_canary0a1b2c3d4e5f", **large)
    assert seen["environment"]["LARGE_7"] == "x" * 100_000


def test_a_kill_between_the_two_processes_leaves_nothing(tmp_path: Path):
    """The second interpreter waits in `sitecustomize`, before anything of ours runs."""
    site, home = tmp_path / "site", tmp_path / "home"
    site.mkdir()
    home.mkdir()
    (site / "sitecustomize.py").write_text(
        "import os, time\nif 'SLASH_AGENT_PIPE' in os.environ:\n    print('between', flush=True)\n    time.sleep(60)\n"
    )
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home), **_SECRETS}
    command = [sys.executable, "-P", "-m", "bot", "fix", "x"]
    path = f"{site}:{_ROOT}"
    with subprocess.Popen(
        command, env={**environment, "PYTHONPATH": path}, stdout=subprocess.PIPE, cwd=home
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"between\n"
        assert b"canary" not in Path(f"/proc/{process.pid}/environ").read_bytes()
        process.send_signal(signal.SIGTERM)
    assert process.returncode == -signal.SIGTERM
    assert list(home.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("program", [["-P", "-m", "bot"], [str(Path(sys.executable).parent / "slash-agent")]])
def test_every_way_to_start_it_works(program: list[str], tmp_path: Path):
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **_SECRETS}
    done = run_program([sys.executable, *program, "tool", "--help"], env=environment, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "usage: slash-agent tool" in done.stdout


def test_no_child_of_ours_inherits_the_environment():
    """The secrets are in the environment of this process again, so whatever it starts must be given one of its own."""
    careless = []
    for path in Path(_ROOT, "bot").rglob("*.py"):
        if "toolhost" in path.parts or "bundled" in path.parts:
            continue  # inside the sandbox, where there is nothing to inherit
        text = path.read_text()
        for call in ast.walk(ast.parse(text)) if "subprocess" in text or "os.s" in text else ():
            if not isinstance(call, ast.Call) or not _starts_a_process(call):
                continue
            if all(keyword.arg != "env" for keyword in call.keywords):
                careless.append(f"{path.relative_to(_ROOT)}:{call.lineno}")
    assert careless == []


def _starts_a_process(call: ast.Call) -> bool:
    words = [ast.unparse(call.func), *map(ast.unparse, call.args[:1])]
    starts = (
        "subprocess.run", "subprocess.Popen", "subprocess.check_", "subprocess.call", "os.spawn", "os.system",
    )  # fmt: skip
    return any(word.startswith(starts) for word in words)


def test_ctrl_c_before_anything_began_is_no_traceback():
    """Also one that came while the program began again."""
    code = """
import os, signal
from bot.cli.scrub_environment import PIPE, restart_without_secrets, exit_on_ctrl_c
if PIPE not in os.environ:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ignored where the tests are a job in the background
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.kill(os.getpid(), signal.SIGINT)
exit_on_ctrl_c()
restart_without_secrets(["fix"])
print("it went on")
"""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": _ROOT, **_SECRETS}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env=environment, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"slash-agent: cancelled\n")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_standard_stream_that_was_closed_is_no_other_file(tmp_path: Path, closed: str):
    code = f"""
import json, os, sys
from bot import __main__
from bot.cli import main
def run(argv):
    print("to nobody")
    print("to nobody", file=sys.stderr)
    streams = [os.readlink(f"/proc/self/fd/{{number}}") for number in range(3)]
    open({str(tmp_path / "seen")!r}, "w").write(json.dumps([streams, os.environ["GITHUB_TOKEN"]]))
    return 5
main.run = run
sys.argv = ["slash-agent", "fix"]
__main__.main()
"""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": _ROOT, **_SECRETS}
    script = 'exec "$0" -P -c "$1" ' + closed
    done = subprocess.run(
        ["bash", "-c", script, sys.executable, code],
        env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 5, done.stderr
    streams, token = json.loads((tmp_path / "seen").read_text())
    assert token == _SECRETS["GITHUB_TOKEN"]
    for number, redirection in enumerate(("<&-", " >&-", "2>&-")):
        if redirection in f" {closed}":
            assert streams[number] == os.devnull
