"""Trouble: what the next requests meet instead of, or before, their answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bot.forge.by_hand.base import Base
from bot.forge.faults import Fault


class Trouble(Base):
    def fail_next(
        self,
        method: str = "*",
        path: str = "",
        status: int = 500,
        *,
        headers: Mapping[str, str] | None = None,
        body: Any = None,
        times: int = 1,
    ) -> None:
        """Answer the next matching requests so, without carrying them out.

        `path` is a regular expression, searched in the path from the root (`/api/v3/...`,
        `/owner/name.git/...`); `body` is JSON data, or text or bytes to send as they are.
        """
        self._faults.add(Fault(method, re.compile(path), status, dict(headers or {}), body), times)

    def delay_next(self, method: str = "*", path: str = "", *, seconds: float, times: int = 1) -> None:
        """Answer the next matching requests as usual, but late."""
        self._faults.add(Fault(method, re.compile(path), delay=seconds), times)

    def drop_next(
        self, method: str = "*", path: str = "", *, times: int = 1, after_effect: bool = False
    ) -> None:
        """Close the connection instead of answering; with `after_effect` carry the request out first."""
        self._faults.add(Fault(method, re.compile(path), drop=True, after_effect=after_effect), times)

    @property
    def faults_waiting(self) -> int:
        return self._faults.waiting
