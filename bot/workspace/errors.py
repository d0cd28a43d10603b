"""Errors of a workspace."""

from __future__ import annotations

from bot.contracts.errors import AgentError


class WorkspaceError(AgentError):
    """The tool host died, fell silent or said something it should not; all its processes are dead.

    A new workspace on the same work tree may be started.
    """


class HostEndedError(WorkspaceError):
    """A tool host that had come up ended, was stopped, or said what it must not; nobody had closed it."""
