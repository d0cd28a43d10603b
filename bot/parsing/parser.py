"""`Parser`: apply parsers to texts of a repository in one child process with limits.

Parsers of YAML, TOML, JSON, INI and Python are not hardened: a few hundred bytes take minutes or gigabytes, and deep
nesting crashes the interpreter. No other process of the supervisor's side applies them to a repository's files.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_LARGEST = 1 << 20
_LARGEST_ANSWER = 8 << 20
_SECONDS_A_TEXT = 5.0
_SECONDS = 10.0
_TOO_LONG = (-signal.SIGXCPU, -signal.SIGKILL)
_START = "import sys; sys.path += sys.argv[1:]; from bot.parsing import child; child.main()"


class ParseError(Exception):
    """A text could not be parsed. The message is a clause with the reason."""


class Parser:
    """Starts its child with the first text, and another one if that died. A context manager; for one thread."""

    def __init__(self, seconds: float = _SECONDS) -> None:
        """`seconds` is the time for all texts together."""
        self._left = self._seconds = seconds
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Parser:
        return self

    def __exit__(self, *_: object) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
            self._child = None

    def parse(self, function: Callable[[str], Any], text: str) -> Any:
        """Return what `function`, of a module's top level, returns for `text`, as values of JSON. Raises `ParseError`.

        The caller validates the values: a text that takes control of the child decides what they are.
        """
        if len(text) > _LARGEST:
            raise ParseError(f"it has over {_LARGEST:,} characters")
        if self._left <= 0:
            raise ParseError(f"it was not read, since the files before it took over {self._seconds:.0f} s")
        started = time.monotonic()
        try:
            request = json.dumps([function.__module__, function.__qualname__, text.removeprefix("\ufeff")])
            answer = self._ask(request.encode() + b"\n")
            value, reason = json.loads(answer)
        except (ValueError, TypeError, RecursionError) as error:
            raise ParseError("its parser answered with no value") from error
        finally:
            self._left -= time.monotonic() - started
        if reason:
            raise ParseError(str(reason))
        return value

    def _ask(self, request: bytes) -> bytes:
        """Ask another child if one crashes that has parsed other texts: the cause may be one of those."""
        while True:
            is_fresh = self._child is None
            child = self._child = self._child or _start()
            limit = threading.Timer(min(_SECONDS_A_TEXT, self._left), child.kill)
            limit.start()
            try:
                answer = _exchange(child, request)
            finally:
                limit.cancel()
            if answer.endswith(b"\n"):
                return answer
            self.__exit__()
            if is_fresh or child.returncode in _TOO_LONG:
                raise ParseError(_cause(child.returncode))


def _start() -> subprocess.Popen[bytes]:
    yaml = find_spec("yaml")
    folders = {Path(__file__).parents[2], *([Path(yaml.origin).parents[1]] if yaml and yaml.origin else [])}
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _START, *map(str, folders)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={},
        cwd="/",
        process_group=0,  # a terminal's Ctrl-C is for the supervisor
    )


def _exchange(child: subprocess.Popen[bytes], request: bytes) -> bytes:
    """Return the line that the child answers; an incomplete one if it died or wrote too much."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(request)
        child.stdin.flush()
    except BrokenPipeError:
        return b""
    return child.stdout.readline(_LARGEST_ANSWER)


def _cause(status: int) -> str:
    if status in _TOO_LONG:
        return "it takes its parser too long"
    return "it crashes its parser" if status < 0 else "it takes its parser too much memory"
