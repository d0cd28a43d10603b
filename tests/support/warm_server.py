"""The program with everything imported, which forks for each command line that it receives.

`python -P warm_server.py FD`, with a listening socket. A connection is one command line: a packet of JSON with `argv`,
`env` and `cwd`, and the descriptors for standard input, output and error. The server sends the process id, and later
the exit code. It ends when its standard input is closed.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any

import bot

if TYPE_CHECKING:
    from bot.contracts.sandbox import SandboxInfo
    from bot.ecosystems.checker import Checker
    from bot.evidence.check import Check
    from bot.parsing.parser import Parser
from bot.cli.scrub_environment import environment_without_secrets
from bot.workspace import probe as sandbox_probe
from bot.workspace import start
from bot.workspace.sandbox.confinement import Confinement

LARGEST = 1 << 17


def serve(listener: socket.socket) -> bool:
    """`True` in each child, which becomes the program; `False` at the end. There are no threads, so forking is safe."""
    gc.collect()
    gc.freeze()
    alive = os.dup(0)
    running: dict[int, tuple[int, socket.socket]] = {}  # a child's pidfd to its id and its client
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    poll.register(alive, select.POLLIN)
    while True:
        for ready, _ in poll.poll():
            if ready == alive:
                return False
            if ready != listener.fileno():
                poll.unregister(ready)
                _send_exit_code(ready, *running.pop(ready))
                continue
            client, _ = listener.accept()
            data, handles, _, _ = socket.recv_fds(client, LARGEST, 3)
            if len(handles) != 3:
                client.close()
                continue
            pid = os.fork()
            if pid == 0:
                for each in (listener, client, *(other for _, other in running.values())):
                    each.close()
                for each in (alive, *running):
                    os.close(each)
                _set_up_process(json.loads(data), handles)
                return True
            for handle in handles:
                os.close(handle)
            client.send(struct.pack("i", pid))
            child = os.pidfd_open(pid)
            running[child] = (pid, client)
            poll.register(child, select.POLLIN)


def _send_exit_code(child: int, pid: int, client: socket.socket) -> None:
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(child)
    with (
        client,
        contextlib.suppress(BrokenPipeError, ConnectionResetError),
    ):  # the client may have closed the connection
        client.send(struct.pack("i", code))


def _set_up_process(request: dict[str, Any], handles: list[int]) -> None:
    """Set up this child as a process that was started with `request`, up to the call of `main`."""
    for number, handle in enumerate(handles):
        os.dup2(handle, number)
        os.close(handle)
    os.chdir(request["cwd"])
    os.environ.clear()
    # Its own environment has no secrets, as after a clean start.
    if request["env"].pop("SLASH_AGENT_TEST_PROBE", ""):
        sandbox_probe.probe = _probe  # for a test of what the probe of a run leaves behind
    left_out = request["env"].pop(
        "SLASH_AGENT_TEST_LEAVE_OUT_CHECKS", ""
    )  # where a script starts the program
    os.environ.update(environment_without_secrets(request["argv"], request["env"]) or request["env"])
    time.tzset()
    tempfile.tempdir = None
    start.CHECKERS = tuple(request.get("checkers", ()))  # type: ignore[assignment]
    leave_out_checks(bool(left_out) or request.get("leave_out_checks", False))
    leave_out_checkers(request.get("leave_out_checkers", False))
    reuse_parsing_children()
    sys.argv[1:] = request["argv"]


def reuse_parsing_children() -> list[subprocess.Popen[bytes]]:
    """Let each `Parser` of this process leave its child to the next one, since its start takes 40 ms, and a run has
    several. Returns those that wait. A child that a test starts in another way, or that failed, is not kept."""
    from bot.parsing import parser

    waiting: list[subprocess.Popen[bytes]] = []
    start, leave, usual = parser._start, parser.Parser.__exit__, parser._START

    def start_or_reuse() -> subprocess.Popen[bytes]:
        return waiting.pop() if waiting and usual == parser._START else start()

    def leave_or_keep(self: Parser, *raised: object) -> None:
        child = self._child
        if child and raised == (None, None, None) and child.poll() is None and usual == parser._START:
            waiting.append(child)
            self._child = None
        leave(self, *raised)

    parser._start, parser.Parser.__exit__ = start_or_reuse, leave_or_keep  # type: ignore[method-assign]
    return waiting


LEFT_OUT = "true # left out of the runs of tests"
"""A check for policies: a run without checks would detect those of the repository."""


def leave_out_checks(leave_out: bool) -> None:
    """Whether runs of this process skip detected checks and `LEFT_OUT`, which take two thirds and a third of a run on
    the sample."""
    from bot.run import parts
    from bot.session.context import base

    parts.checks_of = remaining_checks if leave_out else base.checks_of  # type: ignore[attr-defined]  # patched


def leave_out_checkers(leave_out: bool) -> None:
    """Whether runs of this process skip checkers."""
    from bot.evidence.checker_comparison import choose_checkers
    from bot.session.checks import inspection

    inspection.choose_checkers = no_checkers if leave_out else choose_checkers  # type: ignore[attr-defined]  # patched


def no_checkers(*arguments: Any) -> tuple[Checker, ...]:
    return ()


def remaining_checks(*arguments: Any) -> tuple[Check, ...]:
    from bot.session.context.base import checks_of

    return tuple(check for check in checks_of(*arguments) if not check.detected and check.command != LEFT_OUT)


_probe = sandbox_probe.probe
_probed: dict[str, SandboxInfo] = {}


def probe_once(confinement: Confinement) -> SandboxInfo:
    """The cached result of the first probe of this sandbox, which takes 0.4 s. tests/workspace/sandbox tests the probe,
    and cold runs make it."""
    key = repr(confinement)
    if key not in _probed:
        _probed[key] = _probe(confinement)
    return _probed[key]


def _import_all() -> None:
    """Import all modules, and create what is created once for a process: patterns, adapters, a model connection."""
    for module in pkgutil.walk_packages(bot.__path__, "bot."):
        if not module.name.startswith(("bot.__main__", "slash_forge", "bot.toolhost")):
            importlib.import_module(module.name)
    packages = "git github httpx2 jinja2 markdown_it pydantic tree_sitter tree_sitter_bash"
    codecs = "encodings.utf_8_sig encodings.utf_16_le"
    for name in (*packages.split(), *codecs.split()):
        importlib.import_module(name)
    from bot.contracts.outcome import Outcome
    from bot.gate import flagged_files, path_rules
    from bot.gate.redact import Redactor
    from bot.policy import read_policy
    from bot.providers.connect import connect
    from bot.publish import bundle, macros
    from bot.report import page
    from bot.session.demo.demo import RECORDING

    for vendor in ("anthropic", "openai"):
        name = vendor.upper()
        connect(f"{vendor}/x", {f"{name}_API_KEY": "-", f"{name}_BASE_URL": "http://127.0.0.1:9"}).close()
    Redactor({}).prepare()
    macros.macros_of("pull_request")
    page.render_page(RECORDING)
    bundle._adapter(Outcome)
    read_policy.policy_adapter()
    path_rules.withholding("a")
    flagged_files.sensitive("a")
    sandbox_probe.probe = probe_once
    with contextlib.suppress(Exception):  # then each run probes and reports the error
        sandbox_probe.choose("auto")


def _shorten_pauses() -> None:
    """Divide retry delays by 50 and remove the delay between writes. tests/github and tests/providers test the real
    delays. A delay that a model's server requests stays."""
    from bot.github import client, retry, tokens
    from bot.github.retry import Pace
    from bot.providers.connect import connect
    from bot.providers.retry import DEFAULT_POLICY

    def quick() -> Pace:
        return Pace(between_writes=0, sleep=lambda seconds: time.sleep(seconds / 50))

    client.Pace = tokens.Pace = retry.Pace = quick  # type: ignore[assignment,attr-defined,misc]
    assert connect.__kwdefaults__ is not None
    connect.__kwdefaults__["policy"] = DEFAULT_POLICY._replace(base=DEFAULT_POLICY.base / 50)


def _exit_without_freeing(error: SystemExit) -> None:
    """Exit without freeing objects: that would copy every memory page of the server, and take twice as long as a small
    command."""
    if not isinstance(error.code, int):
        return
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    with contextlib.suppress(AttributeError, OSError, ValueError):  # a closed stream is Python's to report
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(error.code & 0xFF)


if __name__ == "__main__":
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under `nohup` it is ignored, and the program keeps it so
    _import_all()
    _shorten_pauses()
    if serve(socket.socket(fileno=int(sys.argv.pop()))):
        from bot.__main__ import main

        try:
            main()
        except SystemExit as error:
            _exit_without_freeing(error)
            raise
