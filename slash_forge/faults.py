"""Faults that tests inject, and the record of exchanges."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its response. `status` 0: the connection was dropped. Bodies of git are not recorded."""

    method: str
    path: str
    query: str
    request_headers: Mapping[str, str]
    request_body: bytes
    status: int
    headers: Mapping[str, str]
    body: bytes
    login: str

    @property
    def json(self) -> Any:
        return json.loads(self.request_body)

    def __str__(self) -> str:
        return f"{self.method} {self.path} {self.status} {self.login or '-'}"


@dataclass(frozen=True, slots=True)
class Fault:
    """An injected error, delay or closed connection.

    `status` None answers as usual, after `delay` seconds. `drop` closes the connection without a response;
    with `after_effect` the operation is carried out first.
    """

    method: str
    path: re.Pattern[str]
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    delay: float = 0.0
    drop: bool = False
    after_effect: bool = False


class Faults:
    """Faults for future requests. Each is used once; the first that matches is taken."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[Fault] = []

    def add(self, fault: Fault, times: int) -> None:
        with self._lock:
            self._waiting += [fault] * times

    def take(self, method: str, path: str) -> Fault | None:
        with self._lock:
            for index, fault in enumerate(self._waiting):
                if fault.method in ("*", method) and fault.path.search(path):
                    return self._waiting.pop(index)
        return None

    def clear(self) -> None:
        with self._lock:
            self._waiting.clear()

    @property
    def waiting(self) -> int:
        """The number of unused faults."""
        return len(self._waiting)
