"""Approvals by the person at the terminal, where the policy says `ask`: one question at a time.

An answer for the session covers the same tool and rule, for commands the same words, until the run ends. A no ends the
run; a sentence goes to the model.
"""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from bot.agent.journal import JournalFile, read_journal
from bot.agent.toolbox import Permission
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.contracts.journal import PermissionDecision
from bot.contracts.progress import Inquiry, Person, Reply
from bot.contracts.records import masked
from bot.contracts.request import Tier
from bot.policy.decide import Decision
from bot.publish.bundle import JOURNAL

BY_PERSON = "a person at the terminal"
BY_PERSON_SUFFIX = f", asked of {BY_PERSON}"
"""In the rule of a call that a person decided."""

NO = "no"

_SAID_NO = "a person said no"
_SAID_WORDS = "a person said instead: "
_SAID_NO_ALREADY = "a person said no, and the run ends"
_LONGEST_WORDS = 2_000


class Approvals:
    """The questions and answers so far, shared by the run and its subagents.

    `approved` are the paths that a person let be written. If it is `None`, a yes to a write would not count at the
    gate, and nobody is asked about writes. `mask` filters what a person sees.
    """

    def __init__(
        self,
        person: Person | None,
        cancel: CancelToken,
        mask: Callable[[str], str] = lambda text: text,
        approved: Collection[str] | None = None,
    ) -> None:
        self.approved = set(approved or ())
        self.refused = False
        self._person = person
        self._cancel = cancel
        self._mask = mask
        self._writes = approved is not None
        self._approved_keys: set[tuple[str, str, str]] = set()

    def may(self, *, write: bool) -> bool:
        """Whether a person can be asked about a write, or about something else."""
        return self._person is not None and (self._writes or not write)

    def ask(self, inquiry: Inquiry, decisions: Sequence[tuple[str, Decision]]) -> Permission | None:
        """The person's reply, `None` if nobody is there any more. `decisions` are those on each path of a write, or the
        one on a command; what the answer `session` covers is added to `inquiry`."""
        if self.refused:
            return Permission(False, reason=_SAID_NO_ALREADY, person_answer=NO)
        if self._person is None:
            return None
        words = "" if inquiry.files else inquiry.subject
        keys = {(inquiry.tool, decision.rule, words) for _, decision in decisions}
        if not self._approved_keys.issuperset(keys):
            inquiry = inquiry._replace(remembered=_scope(inquiry, decisions))
            reply = self._person(masked(inquiry, self._mask), self._cancel)
            if reply.answer == "gone" and not self._cancel.fired:
                self._person = None
                return None
            if reply.answer not in ("once", "session"):
                return self._refused(reply)
            if reply.answer == "session":
                self._approved_keys.update(keys)
        if inquiry.files:
            self.approved.update(path for path, _ in decisions)
        return Permission(True)

    def answer(self, question: str) -> str:
        """The person's answer to a question of the model, empty without one."""
        if self._person is None or self.refused:
            return ""
        inquiry = Inquiry("ask_user", "", "", "", question=question)
        reply = self._person(masked(inquiry, self._mask), self._cancel)
        return _one_line(reply.words) if reply.answer == "words" else ""

    def _refused(self, reply: Reply) -> Permission:
        self.refused = reply.answer == NO
        reasons = {NO: _SAID_NO, "words": f"{_SAID_WORDS}{_one_line(reply.words)}"}
        reason = reasons.get(reply.answer, "the run was stopped before a person answered")
        return Permission(False, reason=reason, person_answer=reply.answer)


def _one_line(words: str) -> str:
    return " ".join(words.split())[:_LONGEST_WORDS]


def _scope(inquiry: Inquiry, decisions: Sequence[tuple[str, Decision]]) -> str:
    rules = " and ".join(sorted({decision.rule for _, decision in decisions}))
    if inquiry.files:
        return f"every {inquiry.tool} that {rules} asks about, of whatever file"
    return f"{inquiry.tool} under {rules} with these very words"


def approved_paths(recorded: JournalFile | None) -> frozenset[str]:
    """The paths that a person let be written in a recorded run on their own checkout."""
    if recorded is None or recorded.header.request.actor.tier is not Tier.LOCAL:
        return frozenset()
    records = (line.record for line in recorded.everything or recorded.lines)
    return frozenset(
        line.path
        for line in records
        if isinstance(line, PermissionDecision) and line.allow and line.rule.endswith(BY_PERSON_SUFFIX)
    ) - {""}


def own_recording(bundle: Path | None, own: Path) -> JournalFile | None:
    """The journal beside `bundle`, if that is in `own`, the folder of this user's runs: approvals in other journals
    are not trusted. Without one the change must fit the policy."""
    if bundle is None or not bundle.resolve().is_relative_to(own.resolve()):
        return None
    try:
        return read_journal(bundle / JOURNAL)
    except AgentError:
        return None
