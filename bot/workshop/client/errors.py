"""What goes wrong with a workshop."""

from __future__ import annotations

from bot.contracts.errors import AgentError


class WorkshopError(AgentError):
    """The tool host died, fell silent or said something it should not; all its processes are dead.

    A new workshop on the same work tree may be started.
    """
