"""What a conversation and its subagents used (S-120)."""

from __future__ import annotations

import threading

from bot.contracts.messages import Usage


class SessionUsage:
    """Requests, tokens, USD, commands, and the commands' output in bytes. Thread-safe, since subagents run in
    parallel."""

    def __init__(self) -> None:
        self.requests = 0
        self.usage = Usage()
        self.cost = 0.0
        self.commands = 0
        self.output = 0
        self._lock = threading.Lock()

    def count_request(self) -> None:
        with self._lock:
            self.requests += 1

    def uncount_request(self) -> None:
        """Undo the last `count_request`."""
        with self._lock:
            self.requests -= 1

    def add(self, usage: Usage, cost: float) -> None:
        with self._lock:
            self.usage += usage
            self.cost += cost

    def count_command(self, size: int) -> None:
        """Count a command that printed `size` bytes."""
        with self._lock:
            self.commands += 1
            self.output += size
