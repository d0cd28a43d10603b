"""What every tool is given. One context a workshop; tools keep no state of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bot.workshop.host.cancellation import Cancellation
from bot.workshop.host.known_files import KnownFiles

if TYPE_CHECKING:
    from bot.workshop.host.records import Records


class ToolFailure(Exception):
    """A tool cannot do what was asked. The message goes to the model as an error result: what happened, to
    what, and the next step that would work."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The supervisor's answer to a permission question. `reason` goes to the model when `allow` is false."""

    allow: bool
    reason: str = ""


Ask = Callable[[str, str, str, str], Answer]
"""`ask(tool, path, action, diff)`: `path` relative to the root, `action` is "create" or "change"."""


@dataclass(slots=True)
class Context:
    """`root` is the work tree, `tmp` and `spill` are folders outside it that the workshop may write.

    `seq` numbers the call that is running, for spill files; `cancelled` is set when it should stop at once.
    """

    root: Path
    tmp: Path
    spill: Path
    environment: Mapping[str, str]
    ask: Ask
    records: Records
    assume_read: bool = False
    seq: int = 0
    cwd: Path | None = None
    cancelled: Cancellation = field(default_factory=Cancellation)
    files: KnownFiles = field(init=False)

    def __post_init__(self) -> None:
        self.files = KnownFiles(self.root, self.tmp, self.cancelled)
