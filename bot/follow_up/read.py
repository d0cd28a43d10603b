"""Read the situation of a pull request. While nothing happened it takes two requests; what failed is looked at only
when all checks have ended.
"""

from collections.abc import Iterator
from typing import NamedTuple

from bot.contracts.pulls import FailedCheck
from bot.contracts.request import Tier
from bot.events.admission import tier_of
from bot.follow_up.failures import ended_by, fingerprint, lost_in
from bot.follow_up.record import Record, read_record
from bot.follow_up.situation import Check, Ended, Mergeable, OpenThread, Presence, Situation
from bot.github.client import GitHub
from bot.github.pull_status import CheckStatus, PullStatus, ThreadStatus
from bot.github.values import Account
from bot.policy.publish_settings import FollowUpPolicy, Identity
from bot.publish.own_pulls import author_of
from bot.publish.remote import PREFIX
from bot.publish.thread.markers import PULL_REQUEST, mark_of, own_fields

ANSWERED = "answered"
"""The kind of our replies in a thread. `declined`: we said why we do not follow it."""
_WORKFLOWS = ".github/workflows/"
_MERGEABLE = {"MERGEABLE": Mergeable.CLEAN, "CONFLICTING": Mergeable.CONFLICT}
_PRESENCE = {"CLOSED": Presence.CLOSED, "MERGED": Presence.MERGED}


class Followed(NamedTuple):
    """A pull request of our own as it is now, and what we know of it."""

    status: PullStatus
    record: Record
    situation: Situation


def is_own(status: PullStatus, repository: str, *accounts: Account | None) -> bool:
    """Whether we opened it, from a branch of ours in this repository."""
    ours = own_fields(status.body, status.author, PULL_REQUEST, *accounts) is not None
    return (
        ours and status.head_ref.startswith(PREFIX) and status.head_repository.lower() == repository.lower()
    )


def read_followed(
    github: GitHub, number: int, limits: FollowUpPolicy, identity: Identity, *, may_push_workflows: bool
) -> Followed | None:
    """Return the pull request `number`; `None` if it is not ours. Raises `GitHubError`."""
    status = github.pull_status(number)
    if not is_own(status, github.name, github.me):
        return None
    record = read_record(github, number, status.commits)
    reader = _Reader(github, number, limits, status)
    email = author_of(github.me, identity, status.url).email
    threads = tuple(reader.threads())
    presence = Presence.QUEUED if status.queued else _PRESENCE.get(status.state, Presence.OPEN)
    mergeable = _MERGEABLE.get(status.mergeable, Mergeable.UNKNOWN)
    blocked = mergeable is Mergeable.CONFLICT and not may_push_workflows and reader.base_changes_workflows()
    situation = Situation(
        number=number,
        head=status.head,
        base_tip=status.base_tip,
        presence=presence,
        stopped=record.stopped,
        running=bool(record.run) and record.head == status.head,
        others=tuple(one.sha for one in status.commits if one.email != email),
        mergeable=mergeable,
        checks=tuple(reader.checks()) if presence is Presence.OPEN and not record.stopped else (),
        threads=threads,
        unanswered=len(status.threads),
        bot_review_pending=bool(limits.bots.intersection(status.asked_bots)),
        approved=any(one.state == "APPROVED" for one in status.reviews),
        draft=status.draft,
        review_requested=status.review_requested,
        lines=status.lines,
        workflows_block=blocked,
        spent=record.spent,
    )
    return Followed(status, record, situation)


class _Reader:
    def __init__(self, github: GitHub, number: int, limits: FollowUpPolicy, status: PullStatus) -> None:
        self.github, self.number, self.limits, self.status = github, number, limits, status
        self._writers: dict[int, bool] = {}

    def checks(self) -> Iterator[Check]:
        """Yield the checks of the head. Failures are looked at if every check has ended."""
        ended = [(one, ended_by(one.state)) for one in self.status.checks]
        of_base = {one.name: one for one in self.status.base_checks}
        settled = not any(how in (Ended.PENDING, Ended.UNAPPROVED) for _, how in ended)
        red = settled and any(how is Ended.FAILED for _, how in ended)
        details = {one.name: one for one in self.github.failed_checks(self.status.head)} if red else {}
        before = self._before() if red else {}
        for one, how in ended:
            failed, base = details.get(one.name), of_base.get(one.name)
            if how is Ended.FAILED and failed is not None and lost_in(failed):
                how = Ended.LOST
            yield Check(
                name=one.name,
                ended=how,
                required=one.required or not any(each.required for each in self.status.checks),
                url=one.url,
                run=one.run,
                fingerprint=_fingerprint(one, failed) if how is Ended.FAILED and settled else "",
                on_merge_base=before.get(one.name),
                on_base_tip=ended_by(base.state) if base else None,
                base_url=base.url if base else "",
            )

    def _before(self) -> dict[str, Ended]:
        """How the checks ended at the merge base."""
        merge_base = (
            self.github.merge_base(self.status.base_tip, self.status.head) if self.status.base_tip else ""
        )
        found = self.github.checks_of(self.number, merge_base) if merge_base else ()
        return {one.name: ended_by(one.state) for one in found}

    def base_changes_workflows(self) -> bool:
        """Whether the base changed a workflow since the merge base; true if that cannot be listed."""
        changed = self.github.changed_between(self.status.head, self.status.base_tip)
        return changed is None or any(path.startswith(_WORKFLOWS) for path in changed)

    def threads(self) -> Iterator[OpenThread]:
        """Yield what begins a round: threads whose last comment is by somebody who may, and reviews of this head."""
        for one in self.status.threads:
            if one.comments and not self._is_settled(one):
                bot = self._cause(one.comments[-1].author)
                if bot is not None:
                    yield OpenThread(one.comments[0].id, one.path, one.line, bot)
        for review in self.status.reviews:
            if (
                review.state == "CHANGES_REQUESTED"
                and review.commit == self.status.head
                and review.body.strip()
            ):
                bot = self._cause(review.author)
                if bot is not None:
                    yield OpenThread(0, bot=bot)

    def _is_settled(self, thread: ThreadStatus) -> bool:
        """Whether the last comment is ours, or we declined before: nothing is declined twice."""
        me = self.github.me
        ours = [mark_of(one.body) for one in thread.comments if me is not None and one.author.id == me.id]
        last = thread.comments[-1].author
        return (me is not None and last.id == me.id) or any("declined" in fields for _, fields in ours)

    def _cause(self, account: Account) -> int | None:
        """Return 0 for a person with write access, the id of a listed bot, and `None` for anybody else."""
        if account.kind != "User":
            return account.id if account.id in self.limits.bots else None
        if account.id not in self._writers:
            known = self.github.permission(account.login)
            self._writers[account.id] = known.user_id == account.id and tier_of(known) is Tier.MAINTAINER
        return 0 if self._writers[account.id] else None


def _fingerprint(check: CheckStatus, failed: FailedCheck | None) -> str:
    return fingerprint(failed or FailedCheck(check.name, check.state, check.url))
