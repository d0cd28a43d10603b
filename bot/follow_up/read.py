"""Read the situation of a pull request. While nothing happened it takes two requests; what failed is looked at only
when all checks have ended.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from bot.contracts.pulls import BRANCH_PREFIX
from bot.contracts.request import OWN_WORKFLOWS
from bot.events.event_request import NoRequestError
from bot.follow_up.failures import ended_by, fingerprint, lost_in
from bot.follow_up.record import Record, read_record
from bot.follow_up.situation import Check, Ended, Mergeable, Situation
from bot.github.client import GitHub
from bot.github.pull_status import CommitStatus, PullStatus, ReviewStatus, ThreadComment
from bot.github.tokens import ACTIONS_LOGIN
from bot.github.values import Account
from bot.policy.follow_up import FollowUpPolicy
from bot.policy.publish_settings import Identity
from bot.publish.commit_author import author_of
from bot.publish.thread.markers import PULL_REQUEST, mark_of, own_fields

_WORKFLOWS = ".github/workflows/"
_MERGEABLE = {"MERGEABLE": Mergeable.CLEAN, "CONFLICTING": Mergeable.CONFLICT}


class Followed(NamedTuple):
    """A pull request of our own as it is now, and what we know of it."""

    status: PullStatus
    record: Record
    situation: Situation


def is_own(status: PullStatus, repository: str, *accounts: Account | None) -> bool:
    """Whether we opened it, from a branch of ours in this repository."""
    ours = own_fields(status.body, status.author, PULL_REQUEST, *accounts) is not None
    return (
        ours
        and status.head_ref.startswith(BRANCH_PREFIX)
        and status.head_repository.lower() == repository.lower()
    )


def read_followed(github: GitHub, number: int, limits: FollowUpPolicy, identity: Identity) -> Followed:
    """Return the pull request `number`. Raises `GitHubError`, and `NoRequestError` if it is not ours."""
    status, me = github.pull_status(number), github.me
    if me is None or not is_own(status, github.name, me):  # without `me` nothing shows what is ours
        raise NoRequestError(f"#{number} is not a pull request of this bot's own")
    record = read_record(github, number, (one.message for one in status.commits))
    reader = _Reader(github, number, limits, status, me)
    emails = {author_of(me, one, status.url).email for one in (identity, Identity())}
    over = "in the merge queue" if status.queued else status.state.lower() if status.state != "OPEN" else ""
    mergeable = _MERGEABLE.get(status.mergeable, Mergeable.UNKNOWN)
    checks = tuple(reader.checks()) if not (over or record.stopped) else ()
    merges = mergeable is Mergeable.CONFLICT or any(one.on_merge_base is Ended.FAILED for one in checks)
    threads, unanswered = reader.threads()
    situation = Situation(
        number=number,
        head=status.head,
        base_tip=status.base_tip,
        over=over,
        stopped=record.stopped,
        labelled=limits.stop_label.casefold() in status.labels,
        running=bool(record.run) and record.head == status.head,
        others=tuple(one.sha for one in status.commits if not _is_ours(one, emails)),
        mergeable=mergeable,
        checks=checks,
        threads=threads,
        unanswered=unanswered,
        bot_review_pending=bool(limits.bots.intersection(status.asked_bots)),
        approved=any(one.state == "APPROVED" and _is_person(one) for one in status.reviews),
        ready=record.ready == status.head,
        lines=status.lines,
        workflows_block=merges and me.login == ACTIONS_LOGIN and reader.base_changes_workflows(),
        spent=record.spent,
    )
    return Followed(status, record, situation)


def _is_ours(commit: CommitStatus, emails: Collection[str]) -> bool:
    """Whether we made a commit, and nobody amended it. Of one made through its API, GitHub itself is the committer."""
    author, committer = commit.emails
    return author in emails and (committer in emails or committer.startswith("noreply@"))


def _is_person(author: ThreadComment | ReviewStatus) -> bool:
    """Whether a person wrote it whom GitHub lets push here: it costs no request, and nobody can forge it."""
    return author.insider and author.author.kind == "User"


class _Reader(NamedTuple):
    github: GitHub
    number: int
    limits: FollowUpPolicy
    status: PullStatus
    me: Account

    def checks(self) -> Iterator[Check]:
        """Yield the checks of the head, but not our own jobs, which a review starts on it. Failures are looked at if
        every check has ended."""
        known = [one for one in self.status.checks if one.workflow not in OWN_WORKFLOWS]
        ended = [(one, ended_by(one.state)) for one in known]
        of_base = {one.name: one for one in self.status.base_checks}
        ends = {how for _, how in ended}
        red = Ended.FAILED in ends and ends.isdisjoint((Ended.PENDING, Ended.UNAPPROVED))
        details = {one.name: one for one in self.github.failed_checks(self.status.head)} if red else {}
        before, flaky = self._before() if red else ({}, frozenset[str]())
        for one, how in ended:
            failed, base = details.get(one.name), of_base.get(one.name)
            if how is Ended.FAILED and failed is not None and lost_in(failed):
                how = Ended.LOST
            yield Check(
                name=one.name,
                ended=how,
                required=one.required or not any(each.required for each in known),
                url=one.url,
                run=one.run,
                fingerprint=fingerprint(failed) if failed and how is Ended.FAILED else "",
                on_merge_base=before.get(one.name),
                on_base_tip=ended_by(base.state) if base else None,
                base_url=base.url if base else "",
                flaky=one.name in flaky,
            )

    def _before(self) -> tuple[dict[str, Ended], frozenset[str]]:
        """How the checks ended at the merge base, and which of them did both."""
        tip = self.status.base_tip
        merge_base = self.github.merge_base(tip, self.status.head) if tip else ""
        if not merge_base:
            return {}, frozenset()
        checks, flaky = self.github.checks_of(self.number, merge_base)
        return {one.name: ended_by(one.state) for one in checks}, flaky

    def base_changes_workflows(self) -> bool:
        """Whether the base changed a workflow since the merge base; true if that cannot be listed."""
        changed = self.github.changed_between(self.status.head, self.status.base_tip)
        return changed is None or any(path.startswith(_WORKFLOWS) for path in changed)

    def threads(self) -> tuple[tuple[int, ...], int]:
        """Return what begins a round, threads whose last comment is by somebody who may and reviews of this head; and
        in how many threads people have to act. What outsiders wrote counts as neither, and hides nothing that others
        wrote before; nor does what we followed and the token could not resolve. Nothing is declined twice, and no
        question is repeated."""
        causes, people, me = [], 0, self.me.id
        for thread in self.status.threads:
            one = [each for each in thread if each.author.id == me or self._cause(each) is not None]
            if not one:
                continue
            last = one[-1]
            marks = [set(mark_of(each.body)[1]) for each in one if each.author.id == me]
            by_us = last.author.id == me
            if by_us and not marks[-1] & {"declined", "asked"}:
                continue
            bot = None if by_us or any("declined" in mark for mark in marks) else self._cause(last)
            if bot is not None:
                causes.append(bot)
            people += any(each.author.id != me for each in one)
        for review in self.status.reviews:
            asks = review.state == "CHANGES_REQUESTED" and review.commit == self.status.head
            if asks and review.body.strip() and (bot := self._cause(review)) is not None:
                causes.append(bot)
        return tuple(causes), people

    def _cause(self, author: ThreadComment | ReviewStatus) -> int | None:
        """Return 0 for a person with write access, the id of a listed bot, and `None` for anybody else."""
        if _is_person(author):
            return 0
        identity = author.author.id
        return identity if author.author.kind == "Bot" and identity in self.limits.bots else None
