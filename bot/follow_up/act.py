"""Do what was decided: the thin layer between a step and GitHub. Rounds with a model are begun and ended here; they are
run by `bot/session/event/follow.py`.

What counts is written down before it is done, so that a process that dies in between has used it up.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from bot.contracts.formatting import count_of, money, sentence
from bot.contracts.outcome import INFRASTRUCTURE, Outcome, Status
from bot.contracts.request import Actor
from bot.events.event_request import NoRequestError
from bot.follow_up.decide import blocked, names_of
from bot.follow_up.read import Followed, is_own
from bot.follow_up.record import Record, read_record, row, with_result, write_record
from bot.follow_up.situation import (
    ROUNDS,
    AskApproval,
    Ended,
    Kind,
    MarkReady,
    Rerun,
    Situation,
    Spent,
    StartRound,
    Step,
    Stop,
    Update,
    Wait,
)
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.policy.follow_up import FollowUpPolicy
from bot.publish.change.commit import ROUND_TRAILER
from bot.publish.markdown import safe_line
from bot.publish.result import PublishResult

Say = Callable[[str], None]


class Actions:
    """The steps of one pull request. `say` writes a line of the job's log, `run` is this Actions run."""

    def __init__(
        self, github: GitHub, followed: Followed, limits: FollowUpPolicy, run: int, say: Say
    ) -> None:
        self.github, self.limits, self.run, self.say = github, limits, run, say
        self.status, record, self.now = followed
        self.record = record._replace(most_rounds=limits.rounds, most_usd=limits.usd)
        self.number = followed.situation.number

    def act(self, step: Step) -> None:
        """Do `step`, and show it in our comment. Raises as `write_record`."""
        head, spent = self.now.head, self.record.spent
        match step:
            case Wait(why, who):
                self.say(f"#{self.number}: {why}")
                if not (self.now.stopped or self.now.running):
                    following = f"**Following this pull request.** {sentence(why)} Next: {who}."
                    self._write(following if who else _ready_text(self.now))
            case AskApproval(runs):
                links = ", ".join(f"[run {number}]({url})" for number, url in enumerate(runs, 1))
                self._write(
                    "**Waiting for somebody with write access** to approve the workflow runs: "
                    f"{links}. Next: a maintainer."
                )
            case Rerun(runs):
                self._spend(spent._replace(done=spent.done | {head}))
                self._write(
                    "**Running failed jobs again.** Next: CI.", row(head, "failed jobs run again", "waiting")
                )
                for one in runs:
                    with self._noting(f"run {one} could not be repeated"):
                        self.github.rerun_failed_jobs(one)
            case Update(why):
                self._spend(spent._replace(done=spent.done | {self.now.base_tip}), Kind.UPDATE)
                merging = f"**Merging the base branch.** {sentence(why)} Next: CI."
                self._write(merging, row(head, "base merged", why))
                self.github.update_branch(self.number, head)
            case StartRound():
                self.begin(step)
            case MarkReady():
                self._ready()
            case Stop(reason, who) if self.record.comment or self.status.state == "OPEN":
                self.stop(reason, who)

    def begin(self, step: StartRound) -> None:
        """Record the begin of a round: it counts from now on."""
        spent, head = self.record.spent, self.now.head
        failures = {one.fingerprint: head for one in step.checks if one.fingerprint}
        spent = spent._replace(
            failures={**spent.failures, **failures},
            done=spent.done.union(str(bot) for bot in step.threads if bot),
            runs=spent.runs | {str(self.run)},
            lines=spent.lines or self.now.lines,
        )
        self._spend(spent, step.kind)
        number = self.record.spent.count(*ROUNDS)
        threads = count_of(step.threads, "thread") if step.threads else ""
        what = ": ".join(filter(None, [_WHAT[step.kind], names_of(step.checks), threads]))
        self.record = self.record._replace(run=self.run, head=head, kind=step.kind.value)
        headline = f"**Round {number} of {self.limits.rounds}:** {safe_line(what)}. Next: this bot."
        self._write(headline, row(head, what, "running"))

    def lose_round(self) -> None:
        """The job of the round under way is gone, so the round does not count. The next step writes that."""
        spent, rows = _ended_early(self.record), with_result(self.record.rows, "its job ended early")
        self.record = self.record._replace(spent=spent, rows=rows, run=0)
        self.now = self.now._replace(running=False, spent=spent)

    def _ready(self) -> None:
        head = self.now.head
        if self.status.draft:
            with self._noting("it could not be marked as ready: the token needs `contents: write`"):
                self.github.mark_ready(self.status.id, self.number)
        if self.record.login and not (self.status.review_requested or self.now.approved):
            with self._noting("no review was requested"):
                self.github.request_review(self.number, self.record.login)
        if self.limits.auto_merge and not (self.now.threads or self.now.unanswered):
            with self._noting("auto-merge is not on"):
                self.github.enable_auto_merge(self.status.id, self.number, head)
        self.record = self.record._replace(ready=head)
        self._write(_ready_text(self.now), row(head, _checks_text(self.now), "ready for review"))

    def stop(self, reason: str, who: str = "a maintainer") -> None:
        record = self.record._replace(head=self.now.head)
        stop_record(self.github, self.number, record, safe_line(reason), who)

    def _spend(self, spent: Spent, *kinds: Kind) -> None:
        counts = dict(spent.counts)
        counts.update((kind, spent.count(kind) + 1) for kind in kinds)
        self.record = self.record._replace(spent=spent._replace(counts=counts))

    def _write(self, headline: str, *rows: str) -> None:
        record = self.record._replace(rows=(*self.record.rows, *rows))
        self.record = write_record(self.github, self.number, record, headline)

    @contextmanager
    def _noting(self, what: str) -> Iterator[None]:
        try:
            yield
        except GitHubError as error:
            self.say(f"note: #{self.number}: {what}: {error}")
            self.record = self.record._replace(rows=(*self.record.rows, row(self.now.head, what, str(error))))


_WHAT = {
    Kind.FIX: "fixing failed checks",
    Kind.REVIEW: "answering the review",
    Kind.CONFLICT: "resolving conflicts with the base",
}


def end_round(
    github: GitHub, number: int, outcome: Outcome, published: PublishResult, problem: str, report: str
) -> None:
    """Record the end of a round: its cost and its result. `problem` is what publishing failed at, before or after a
    push, `report` the address of the round's report. Raises `GitHubError`."""
    record = read_record(github, number)
    if record.comment is None or not record.run:
        return
    pushed, moved = published.commit, False
    if problem:
        now = github.pull_status(number)
        moved = now.head != record.head
        pushed = now.head if moved and now.commits and ROUND_TRAILER in now.commits[-1].message else ""
    spent = record.spent._replace(usd=record.spent.usd + (outcome.cost or 0.0))
    stopped, headline = "", ""
    if pushed:
        headline = "**Following this pull request.** Waiting for checks. Next: CI."
        result = f"pushed {pushed[:12]}: {outcome.description.title}"
        spent = spent._replace(lost=0, void=0)
    elif outcome.stop_reason in INFRASTRUCTURE:
        spent = _ended_early(record._replace(spent=spent))
        result = f"ended early: {outcome.reason}"
        headline = (
            "**Following this pull request.** The last round ended early and is repeated. Next: this bot."
        )
    elif moved:
        spent, result = spent._replace(void=spent.void + 1, failures=_failures_before(record)), problem
        headline = "**Following this pull request.** The last round was void. Next: this bot."
    else:
        result, stopped = "it changed nothing", f"The round changed nothing. {outcome.reason}"
        if problem:
            result = stopped = problem
        elif published.written:
            result, stopped = "answered without a change", "Only questions are left."
        elif outcome.status is Status.NEEDS_INPUT:
            result = "it has a question"
            stopped = f"The round needs an answer: {outcome.question or outcome.reason}"
        headline = f"**Stopped:** {safe_line(stopped)} Next: a maintainer."
    cost = money(outcome.cost or 0)
    cost = f"[{cost}]({report})" if report else cost
    rows = with_result(record.rows, safe_line(result), cost)
    with suppress(NoRequestError):  # the stop stays
        write_record(
            github, number, record._replace(spent=spent, rows=rows, run=0, stopped=stopped), headline
        )


def _ended_early(record: Record) -> Spent:
    """Return what was done without the round under way, which the infrastructure ended."""
    spent, kind = record.spent, record.kind
    counts = {**spent.counts, kind: max(0, spent.counts.get(kind, 0) - 1)}
    return spent._replace(counts=counts, lost=spent.lost + 1, failures=_failures_before(record))


def _failures_before(record: Record) -> dict[str, str]:
    """Return the failures that earlier rounds worked on: nothing of the last one was pushed."""
    return {name: head for name, head in record.spent.failures.items() if head != record.head}


def _checks_text(now: Situation) -> str:
    if not now.checks:
        return "There are no checks"
    passed = all(one.ended is Ended.PASSED for one in now.checks)
    return "All checks pass" if passed else "All required checks pass"


def _ready_text(now: Situation) -> str:
    return f"**Ready for review.** {_checks_text(now)} at {now.head[:12]}. Next: a reviewer."


def arm(github: GitHub, followed: Followed, limits: FollowUpPolicy, by: Actor) -> str:
    """Arm a pull request by the request of an account, also after a stop: a failure may be tried again, and the diff is
    measured from here. Returns a sentence on why it is not armed, empty if it is."""
    _, record, now = followed
    if record.run:  # for another account it could not be published
        return "I follow this pull request already, and a round of it has begun."
    spent = record.spent._replace(lost=0, void=0, failures={}, lines=0)
    if isinstance(step := blocked(now._replace(stopped="", spent=spent), limits), Stop):
        return f"**Not followed:** {step.reason}"
    record = record._replace(stopped="", armed_by=by.id, login=by.login, spent=spent)
    write_record(github, now.number, record, "**Following this pull request.** Next: this bot.")
    return ""


def disarm(github: GitHub, number: int, *, by_policy: bool) -> Record | None:
    """Stop following, if the pull request is followed: `by_policy` each of our own is, before the first comment, too.
    Returns what was known until now, `None` if it was not followed."""
    record = read_record(github, number)
    if record.stopped or not (record.comment or by_policy):
        return None
    if record.comment is None:
        status = github.pull_status(number)
        if not is_own(status, github.name, github.me):
            return None
        record = record._replace(head=status.head)
    stop_record(github, number, record, "`/agent stop`.")
    return record


def stop_record(github: GitHub, number: int, record: Record, reason: str, who: str = "a maintainer") -> None:
    """Stop following, whatever is under way. `reason` is a sentence in Markdown."""
    rows = record.rows if record.run else (*record.rows, row(record.head, "stopped", ""))
    record = record._replace(stopped=reason, rows=with_result(rows, reason), run=0)
    write_record(github, number, record, f"**Stopped:** {reason} Next: {who}.")
