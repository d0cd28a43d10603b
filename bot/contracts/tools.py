"""Tool specifications and tool results."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class ToolSpec(NamedTuple):
    """A tool as the model sees it. `parameters` is a JSON Schema object; `writes` is false for read-only ones."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    writes: bool = False


ToolArguments = Mapping[str, Any]
"""What the model sent for a tool's parameters, by name."""


class ToolOutcome(NamedTuple):
    """One result, two audiences: `content` is for the model, `metadata` for the journal, the report and people.

    `metadata` is plain JSON and never reaches the model. Known keys: `diff`, `additions`, `removals`, `path`,
    `before_hash`, `after_hash`, `exit_code`, `timed_out`, `limit` (the sandbox limit that a command hit),
    `spill` (a file in the run folder).
    """

    content: str
    is_error: bool = False
    metadata: Mapping[str, Any] = {}


class Answer(NamedTuple):
    """The supervisor's answer to a permission question. `reason` goes to the model when `allow` is false."""

    allow: bool
    reason: str = ""


class ToolFailure(Exception):
    """A tool cannot carry out its call. The message goes to the model as an error result: what happened, to what,
    and the next step that would work."""
