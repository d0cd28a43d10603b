"""Tool specifications and tool results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from zlib import crc32


class ToolSpec(NamedTuple):
    """A tool as the model sees it. `parameters` is a JSON Schema object; `writes` is false for read-only ones."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    writes: bool = False


class ToolOutcome(NamedTuple):
    """One result, two audiences: `content` is for the model, `metadata` for the journal, the report and people.

    `metadata` is plain JSON and never reaches the model. Known keys: `diff`, `additions`, `removals`, `path`,
    `before_hash`, `after_hash`, `exit_code`, `duration` (seconds), `timed_out`, `limit` (the sandbox limit that
    a command hit), `spill` (a file in the run folder), `truncated`. `others` are alternative phrasings of
    `content` (see `Variation`).
    """

    content: str
    is_error: bool = False
    metadata: Mapping[str, Any] = {}
    others: tuple[str, ...] = ()


class FileChange(NamedTuple):
    """One file of the work tree that a command changed, as the tool host's scan saw it.

    `before` and `after` are sha256 hex of the bytes, `None` for absent. `content` is the new bytes, `None` when
    deleted or over the limit (`oversize`). `mode` is the permission bits. `link` is a symbolic link's target.
    """

    path: str
    before: str | None
    after: str | None
    mode: int = 0o644
    content: bytes | None = None
    oversize: bool = False
    link: str | None = None


class Variation(NamedTuple):
    """Chooses among the phrasings of successful outcomes, so that a long series of similar results does not
    bias the model (S-165).

    Errors and results without a change are never varied; numbers, paths and what programs read stay the same.
    The choice depends only on the run's `seed` and the call's arguments, so equal calls get equal text (the
    guard against repeated calls compares them), also from a restarted tool host. The journal records
    the chosen text. Without a `seed` the first phrasing is chosen.
    """

    seed: str = ""

    def vary(self, outcome: ToolOutcome, arguments: Mapping[str, Any]) -> ToolOutcome:
        """Return the outcome of a call with `arguments` in one of its phrasings."""
        if not (self.seed and outcome.others):
            return outcome
        phrasings = (outcome.content, *outcome.others)
        number = crc32(f"{self.seed}{json.dumps(dict(arguments))}".encode())
        return outcome._replace(content=phrasings[number % len(phrasings)], others=())


PLAIN = Variation()


def varied_outcome(phrasings: Sequence[str], metadata: Mapping[str, Any]) -> ToolOutcome:
    """Return a successful outcome with alternative phrasings. The first is the plain one, and no longer than
    the others on average."""
    return ToolOutcome(phrasings[0], metadata=metadata, others=tuple(phrasings[1:]))


class ToolFailure(Exception):
    """A tool cannot carry out its call. The message goes to the model as an error result: what happened, to what,
    and the next step that would work."""
