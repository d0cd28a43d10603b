"""What a person at the terminal is asked in a run, one thing at a time, and what their answers hold for.

Where policy says `ask` and somebody is there, they decide. An answer for the session holds for the same tool and rule,
of commands for the same words, until the run ends. Their no ends the run; a sentence of theirs goes to the model.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bot.agent.journal_file import JournalFile, read_journal
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.contracts.journal import Permitted
from bot.contracts.progress import Inquiry, Person, Reply
from bot.contracts.request import Tier
from bot.policy.decide import Decision
from bot.run.narrating import masked
from bot.run.profiles import WRITING

BY_PERSON = "a person at the terminal"
ASKED = f", asked of {BY_PERSON}"
"""In the rule of a call that a person answered: then the run goes by what they said."""

SAID_NO = "no"
SAID_WORDS = "words"
GONE = "gone"

_SAID_NO = "a person said no"
_SAID_WORDS = "a person said instead: "
_SAID_NO_ALREADY = "a person said no, and the run ends"
_LONGEST_WORDS = 2_000


class Answered(NamedTuple):
    """`reason` is for the model where the call may not go on; `said` is `no`, `words` or `gone` then."""

    allow: bool
    reason: str = ""
    said: str = ""


class Ask(NamedTuple):
    """One question of the gatekeeper: `about` are the paths and decisions of a write, or the command's."""

    tool: str
    subject: str
    decision: Decision
    about: Sequence[tuple[str, Decision]]
    files: tuple[tuple[str, str], ...] = ()
    diff: str = ""
    agent: str = ""


class Asking:
    """What was asked and answered so far. Shared by the run and its subagents: who comes second waits.

    `approved` are the paths that a person let be written. Without those, of a run before it or none, a yes to a write
    would not count at the end, and nobody is asked about writes. What a person is shown is put through `mask`.
    """

    def __init__(
        self,
        person: Person | None,
        cancel: CancelToken,
        mask: Callable[[str], str] = lambda text: text,
        approved: Collection[str] | None = None,
    ) -> None:
        self.approved = set(approved or ())
        self.said_no = False
        self._person = person
        self._cancel = cancel
        self._mask = mask
        self._writes = approved is not None
        self._let: set[tuple[str, str, str]] = set()
        self._one = threading.Lock()

    def may(self, *, write: bool) -> bool:
        """Whether somebody is there to be asked about a write, or about something else."""
        return self._person is not None and (self._writes or not write)

    def ask(self, ask: Ask) -> Answered | None:
        """What the person says; `None` where nobody is there any more."""
        with self._one:
            if self.said_no:
                return Answered(False, _SAID_NO_ALREADY, SAID_NO)
            if self._person is None:
                return None
            keys = [
                _key(ask.tool, decision, ask.subject, is_write=bool(ask.files)) for _, decision in ask.about
            ]
            if not self._let.issuperset(keys):
                said = self._put(ask)
                if said.answer == "gone" and not self._cancel.fired:
                    self._person = None
                    return None
                if said.answer not in ("once", "session"):
                    return self._refused(said)
                if said.answer == "session":
                    self._let.update(keys)
            if ask.files:
                self.approved.update(path for path, _ in ask.about)
            return Answered(True)

    def _put(self, ask: Ask) -> Reply:
        assert self._person is not None
        inquiry = Inquiry(
            ask.tool, ask.subject, ask.decision.rule, ask.decision.reason, ask.files, ask.diff,
            _remembered(ask), ask.agent,
        )  # fmt: skip
        return self._person(masked(inquiry, self._mask), self._cancel)

    def _refused(self, said: Reply) -> Answered:
        if said.answer == "no":
            self.said_no = True
            return Answered(False, _SAID_NO, SAID_NO)
        if said.answer == "words":
            words = " ".join(said.words.split())[:_LONGEST_WORDS]
            return Answered(False, f"{_SAID_WORDS}{words}", SAID_WORDS)
        return Answered(False, "the run was stopped before a person answered", GONE)


def _key(tool: str, decision: Decision, subject: str, *, is_write: bool) -> tuple[str, str, str]:
    return tool, decision.rule, "" if is_write else subject


def _remembered(ask: Ask) -> str:
    rules = " and ".join(sorted({decision.rule for _, decision in ask.about}))
    if ask.files:
        return f"every {ask.tool} that {rules} asks about, of whatever file"
    return f"{ask.tool} under {rules} with these very words"


def recorded_lets(recorded: JournalFile) -> frozenset[str]:
    """The paths that a person let be written in a run on their own checkout."""
    if recorded.header.request.actor.tier is not Tier.LOCAL:
        return frozenset()
    said = (line.record for line in recorded.everything or recorded.lines)
    return frozenset(
        line.path for line in said if isinstance(line, Permitted) and line.allow and line.rule.endswith(ASKED)
    ) - {""}


def let_before(bundle: Path | None, own: Path) -> frozenset[str]:
    """Those of the run whose bundle is gone on from. Only in `own`, the folder of this user's runs, is a journal's word
    on a person believed: a bundle from elsewhere may say what it likes."""
    if bundle is None or not bundle.resolve().is_relative_to(own.resolve()):
        return frozenset()
    from bot.publish.bundle.files import JOURNAL

    try:
        return recorded_lets(read_journal(bundle / JOURNAL))
    except AgentError:
        return frozenset()  # without a journal its change is held to the policy


def recorded_person(recorded: JournalFile) -> Person | None:
    """For a replay: somebody who says to each command what was said to it then."""
    said = list(_said(recorded))
    if not said and not recorded_lets(recorded):
        return None
    rest = iter(said)
    return lambda inquiry, cancel: next(rest, Reply("gone"))


def _said(recorded: JournalFile) -> Iterator[Reply]:
    for line in recorded.records(Permitted):
        if not line.call_id or not line.rule.endswith(ASKED) or line.tool in WRITING:
            continue
        if line.allow:
            yield Reply("once")
        elif line.reason == _SAID_NO:
            yield Reply("no")
        elif line.reason.startswith(_SAID_WORDS):
            yield Reply("words", line.reason.removeprefix(_SAID_WORDS))
        else:
            yield Reply("gone")
