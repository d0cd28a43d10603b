"""What a session and its subagents have used together: one purse, whoever asks (S-120)."""

from __future__ import annotations

import threading

from bot.contracts.messages import Usage


class Spent:
    """Requests, tokens, USD, commands and the bytes that those printed. Thread-safe, since subagents run beside each
    other."""

    def __init__(self) -> None:
        self.requests = 0
        self.usage = Usage()
        self.cost = 0.0
        self.commands = 0
        self.output = 0
        self._lock = threading.Lock()

    def ask(self) -> None:
        """One more request went out."""
        with self._lock:
            self.requests += 1

    def take_back(self) -> None:
        """The request that went out last does not count."""
        with self._lock:
            self.requests -= 1

    def use(self, usage: Usage, cost: float) -> None:
        with self._lock:
            self.usage += usage
            self.cost += cost

    def ran(self, printed: int) -> None:
        """One more command was run, and printed so many bytes."""
        with self._lock:
            self.commands += 1
            self.output += printed
