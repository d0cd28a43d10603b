"""What a tool is and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it. `parameters` is a JSON Schema object; `writes` is false for read-only ones."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    writes: bool = False


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """One result, two audiences: `content` is for the model, `metadata` for the journal, the report and people.

    `metadata` is plain JSON and never reaches the model. Known keys: `diff`, `additions`, `removals`, `path`,
    `before_hash`, `after_hash`, `exit_code`, `duration` (seconds), `timed_out`, `limit` (of the sandbox, that a
    command met), `spill` (a file in the run folder), `truncated`.
    """

    content: str
    is_error: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileChange:
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
