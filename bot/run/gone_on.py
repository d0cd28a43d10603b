"""Whether a run goes on with the very conversation of the one before it, or begins a fresh one, and why."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from bot import __version__
from bot.agent.journal_file import MAX_JOURNAL, JournalFile, parse_journal
from bot.agent.prompt import system_prompt
from bot.agent.repair import Rebuilt, rebuilt
from bot.contracts.errors import UsageError
from bot.contracts.journal import Header
from bot.contracts.messages import Message
from bot.contracts.request import Request, Tier
from bot.contracts.tools import ToolSpec
from bot.run.outputs import bring_back
from bot.run.profiles import recorded_profile

_WORDS = (
    "You go on with the conversation above, in a new workshop: nothing of it runs any more, and what it kept outside "
    "the repository is gone{but}. View a file again before you edit it."
)


class Now(NamedTuple):
    """What the new run would begin with by itself."""

    request: Request
    model: str
    system: str
    tools: tuple[ToolSpec, ...]


class Kept(NamedTuple):
    """The conversation with the system text and the tools that it was begun with. `notes` are for people."""

    messages: tuple[Message, ...]
    system: str
    tools: tuple[ToolSpec, ...]
    notes: tuple[str, ...] = ()


def told(bundle: Path | None, archive: Path) -> str:
    """What the model is told of its new place. What the last run kept of long outputs is put into `archive`."""
    back = bring_back(bundle, archive) if bundle is not None else ()
    return _WORDS.format(but=f", but for long outputs: {'; '.join(back)}" if back else "")


def conversation(path: Path, now: Now) -> Kept | str:
    """The conversation that the journal at `path` holds; a sentence where it cannot be gone on with."""
    try:
        # By a short name: where the file is on this machine tells a reader nothing.
        recorded = parse_journal(_read(path), "Its journal")
        if reason := _unfit(recorded.header, now):
            return f"The last run's conversation is not gone on with: {reason}."
        found = rebuilt(recorded)
    except UsageError as error:
        return f"The last run's conversation is not gone on with. {error}"
    if not found.messages:
        return "The last run's conversation is not gone on with: it ended before it began."
    return Kept(found.messages, recorded.header.system, recorded.header.tools, _notes(recorded, found, now))


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_JOURNAL + 1)
    except OSError as error:
        raise UsageError(f"Its journal cannot be read: {error.strerror}.") from error


def _unfit(header: Header, now: Now) -> str:
    was = header.request
    if header.version != __version__:
        return f"it was held by Slash Agent {header.version}, and this is {__version__}"
    if header.model != now.model:
        return f"it was held with {header.model}, and this run is with {now.model}"
    if _place(was) != _place(now.request):
        return "it is of another place"
    if {tool.name for tool in header.tools} != {tool.name for tool in now.tools}:
        return "it was held with other tools"
    # A journal from another machine is hostile: what it says of system text and tools must be what we write ourselves.
    if now.request.actor.tier is not Tier.LOCAL:
        own = system_prompt(recorded_profile(header).prompt, now.tools)
        if (header.system, header.tools) != (own, now.tools):
            return "its system text or its tools are not those of this program"
    return ""


def _place(request: Request) -> tuple[str, int]:
    where = request.repository.lower() or request.clone_url
    return where, request.thread.number if request.thread else 0


def _notes(recorded: JournalFile, found: Rebuilt, now: Now) -> tuple[str, ...]:
    header = recorded.header
    mended = f" Repaired in it: {', '.join(found.mended)}." if found.mended else ""
    notes = [f"The run goes on with the last run's conversation of {len(found.messages)} messages.{mended}"]
    if header.tools != now.tools:
        notes.append(
            "What the model is shown of its tools is what that conversation began with, not what this program says now."
        )
    return tuple(notes)
