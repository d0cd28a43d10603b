"""How long a server is waited for, and how much of it is taken."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pauses:
    """All in seconds, but for `refreshes`, which counts."""

    start: float = 30.0
    """For `initialize`."""

    patience: float = 15.0
    """For an answer, whoever still waits for it; and for a server's first."""

    loading: float = 120.0
    """For an answer of one that says it is still busy with the project: TypeScript 5 takes ten to read a small one on a
    slow machine, and reads it before it says anything."""

    registration: float = 0.5
    """After `initialized`, for a server that says only then that it can be asked."""

    refresh: float = 0.03
    """After an answer, for the word that it was too early."""

    refreshes: int = 3

    versioned: float = 0.15
    unversioned: float = 0.4
    first_open: float = 1.0
    """Of silence after what was published, where that names a version or not, or is the first of a file."""

    stale_progress: float = 10.0
    """A token of progress that is not heard of for so long holds nothing up."""

    stop: float = 2.0
    """For `shutdown` and `exit`, then it is killed."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where one is passed, the server is ended. All in bytes, but for `messages`, which counts."""

    message: int = 8 << 20
    """One message of a server."""

    sent: int = 128 << 20
    messages: int = 50_000
    """What a server may send from one message of ours to the next."""

    unread: int = 16 << 20
    """What may wait for a server that does not read."""
