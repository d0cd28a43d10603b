"""What publishing needs of a run that came to no change: an answer, a question, a plan or a review."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bot.github.host import Host
from bot.publish.body.footer import Links
from bot.publish.bundle.read import Bundle
from bot.publish.remote import Remote
from bot.publish.thread.place import Place


@dataclass(frozen=True, slots=True)
class Telling:
    """`place` is `None` where nobody asked in a thread, `folder` does not exist yet, and `say` is the log's."""

    bundle: Bundle
    host: Host
    place: Place | None
    links: Links
    remote: Remote
    folder: Path
    say: Callable[[str], None]
