"""The forge: starts and stops the server, and combines the mixins of `scenario`."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from slash_forge.faults import Exchange, Faults
from slash_forge.scenario.actions import Actions, Checks
from slash_forge.scenario.events import Events
from slash_forge.scenario.faults import FaultInjection
from slash_forge.scenario.repositories import Repositories
from slash_forge.scenario.threads import Pulls, Reviews, Threads
from slash_forge.server import Server
from slash_forge.state import ACTIONS_BOT, State
from slash_forge.web.pages import Pages

__all__ = ["ACTIONS_BOT", "Forge"]


class Forge(Repositories, Threads, Pulls, Reviews, Checks, Actions, Events, FaultInjection):
    """A small GitHub on a loopback port, until it is closed. Use it as a context manager.

    A repository is given as `owner/name`, an account as its login. An unknown one raises a `KeyError`.
    """

    def __init__(self, port: int = 0, clock: Callable[[], datetime] | None = None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="forge-"))
        self._state = State(clock or (lambda: datetime.now(UTC)))
        self._faults = Faults()
        try:
            self._server = Server(port, self._state, self._faults, lambda site: Pages(self._state, site))
        except OSError:
            shutil.rmtree(self._folder)
            raise
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="forge", daemon=True
        )
        self._thread.start()
        self.add_user(ACTIONS_BOT, kind="Bot", id=41_898_282)

    def __enter__(self) -> Forge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop serving and remove everything from the disk. May be called twice."""
        if self._thread.is_alive():
            self._server.close()
            self._thread.join()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def requests(self) -> list[Exchange]:
        """Every request so far, in the order in which they were answered."""
        return self._server.exchanges
