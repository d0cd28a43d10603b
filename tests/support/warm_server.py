"""The program with everything imported, which forks itself for each command line that it is sent.

`python -P warm_server.py FD`, with a listening socket. A connection is one command line: a packet of JSON with `argv`,
`env` and `cwd`, and with the descriptors that shall be standard input, output and error. The answers are the process
id, and when it has ended its exit code. It lives as long as its own standard input is open.
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
import sys
import tempfile
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import bot

if TYPE_CHECKING:
    from bot.contracts.sandbox import SandboxInfo
    from bot.evidence.check import Check
from bot.cli.scrub_environment import handed_on
from bot.contracts.tools import Variation
from bot.session.run_folder import RunFolder
from bot.workspace import probe as sandbox_probe
from bot.workspace import start
from bot.workspace.sandbox.confinement import Confinement

LARGEST = 1 << 17


def serve(listening: socket.socket) -> bool:
    """`True` in each child that is to be the program; `False` at the end. No threads here, so that forking is safe."""
    gc.collect()
    gc.freeze()
    alive = os.dup(0)
    running: dict[int, tuple[int, socket.socket]] = {}  # a child's pidfd to its id and to who waits for it
    poll = select.poll()
    poll.register(listening, select.POLLIN)
    poll.register(alive, select.POLLIN)
    while True:
        for ready, _ in poll.poll():
            if ready == alive:
                return False
            if ready != listening.fileno():
                poll.unregister(ready)
                _tell_the_end(ready, *running.pop(ready))
                continue
            asking, _ = listening.accept()
            data, handles, _, _ = socket.recv_fds(asking, LARGEST, 3)
            if len(handles) != 3:
                asking.close()
                continue
            pid = os.fork()
            if pid == 0:
                for each in (listening, asking, *(other for _, other in running.values())):
                    each.close()
                for each in (alive, *running):
                    os.close(each)
                _become(json.loads(data), handles)
                return True
            for handle in handles:
                os.close(handle)
            asking.send(struct.pack("i", pid))
            child = os.pidfd_open(pid)
            running[child] = (pid, asking)
            poll.register(child, select.POLLIN)


def _tell_the_end(child: int, pid: int, asking: socket.socket) -> None:
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(child)
    with asking, contextlib.suppress(BrokenPipeError, ConnectionResetError):  # who asked may have given up
        asking.send(struct.pack("i", code))


def _become(asked: dict[str, Any], handles: list[int]) -> None:
    """What a process that was started with `asked` would be, up to the line that calls `main`."""
    for number, handle in enumerate(handles):
        os.dup2(handle, number)
        os.close(handle)
    os.chdir(asked["cwd"])
    os.environ.clear()
    # What this process was started with holds no secret: so it is the one that goes on after a clean start.
    if asked["env"].pop("SLASH_AGENT_TEST_PROBE", ""):
        sandbox_probe.probe = _probe  # for a test of what the probe of a run leaves behind
    left_out = asked["env"].pop("SLASH_AGENT_TEST_LEAVE_OUT_CHECKS", "")  # where a script starts the program
    os.environ.update(handed_on(asked["argv"], asked["env"]) or asked["env"])
    time.tzset()
    tempfile.tempdir = None
    start.CHECKERS = tuple(asked.get("checkers", ()))  # type: ignore[assignment]
    leave_out_checks(bool(left_out) or asked.get("leave_out_checks", False))
    leave_out_checkers(asked.get("leave_out_checkers", False))
    RunFolder.variation = Variation()  # type: ignore[assignment,method-assign]  # as in tests/conftest.py
    sys.argv[1:] = asked["argv"]


LEFT_OUT = "true # left out of the runs of tests"
"""A check for policies: without any, a run detects the repository's own."""


def leave_out_checks(leave_out: bool) -> None:
    """Whether runs of this process leave out checks that do nothing, and those that they detect: the two rounds of the
    former take a third of a run on the sample, those of the latter two thirds."""
    from bot.session.context import base
    from bot.session.job import run_environment

    run_environment.checks_of = remaining_checks if leave_out else base.checks_of  # type: ignore[attr-defined]  # patched


def leave_out_checkers(leave_out: bool) -> None:
    """Whether runs of this process leave out checkers, and so the rounds on which they run when there are no checks."""
    from bot.session.job import run_context

    global _checker_factory
    _checker_factory = _checker_factory or run_context.checker_factory
    run_context.checker_factory = no_checkers if leave_out else _checker_factory


_checker_factory: Any = None


def no_checkers(*arguments: Any) -> None:
    return None


def remaining_checks(*arguments: Any) -> tuple[Check, ...]:
    from bot.session.context.base import checks_of

    return tuple(check for check in checks_of(*arguments) if not check.detected and check.command != LEFT_OUT)


_probe = sandbox_probe.probe
_walls: dict[str, SandboxInfo] = {}


def probe_once(confinement: Confinement) -> SandboxInfo:
    """What the first probe of this sandbox in this process or its parent returned: four tenths of a second for each
    run otherwise. The probe itself has its tests in tests/workspace/sandbox, and runs that are started cold make it."""
    key = repr(confinement)
    if key not in _walls:
        _walls[key] = _probe(confinement)
    return _walls[key]


def _import_all() -> None:
    """And make what is made once for a process: patterns, adapters, and what a first connection to a model loads."""
    for module in pkgutil.walk_packages(bot.__path__, "bot."):
        if not module.name.startswith(("bot.__main__", "slash_forge", "bot.toolhost")):
            importlib.import_module(module.name)
    for package in ("anthropic", "openai", "git", "github", "jinja2", "pydantic", "tree_sitter_bash"):
        importlib.import_module(package)
    from bot.contracts.outcome import Outcome
    from bot.gate.disguised_secrets import Detector
    from bot.gate.redact import Redactor
    from bot.providers.connect import connect
    from bot.publish.body import render
    from bot.publish.bundle import schema
    from bot.report import page
    from bot.session.demo.demo import RECORDING

    for vendor in ("anthropic", "openai"):
        name = vendor.upper()
        connect(f"{vendor}/x", {f"{name}_API_KEY": "-", f"{name}_BASE_URL": "http://127.0.0.1:9"}).close()
    Detector(Redactor({})).prepare()
    render._macros()
    page.render_page(RECORDING)
    schema._adapter(Outcome)
    sandbox_probe.probe = probe_once
    with contextlib.suppress(Exception):  # then each run probes, and says what is wrong
        sandbox_probe.choose("auto")


def _hasten() -> None:
    """Its own pauses are a fiftieth of what they are, and none lies between two writes: how long they are has its
    tests in tests/github and tests/providers, where nobody waits. What a model's server asks for is waited for."""
    from bot.github import client, retry, tokens
    from bot.github.retry import Pace
    from bot.providers.connect import connect
    from bot.providers.retry import DEFAULT_POLICY

    def quick() -> Pace:
        return Pace(between_writes=0, sleep=lambda seconds: time.sleep(seconds / 50))

    client.Pace = tokens.Pace = retry.Pace = quick  # type: ignore[assignment,attr-defined,misc]
    assert connect.__kwdefaults__ is not None
    connect.__kwdefaults__["policy"] = replace(DEFAULT_POLICY, base=DEFAULT_POLICY.base / 50)


def _leave(ended: SystemExit) -> None:
    """Do what Python does at its end, but take nothing apart: that writes to every page that the server made, each of
    which is copied for it, and takes twice as long as a small command."""
    if not isinstance(ended.code, int):
        return
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    with contextlib.suppress(AttributeError, OSError, ValueError):  # a closed stream is Python's to report
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended.code & 0xFF)


if __name__ == "__main__":
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under `nohup` it is ignored, and the program keeps it so
    _import_all()
    _hasten()
    if serve(socket.socket(fileno=int(sys.argv.pop()))):
        from bot.__main__ import main

        try:
            main()
        except SystemExit as ended:
            _leave(ended)
            raise
