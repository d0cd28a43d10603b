"""Do what was decided: the thin layer between a step and GitHub. Rounds with a model are begun and ended here; they are
run by `bot/session/event/follow.py`.

What counts is written down before it is done, so that a process that dies in between has used it up.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bot.contracts.outcome import INFRASTRUCTURE, Outcome, Status
from bot.follow_up.read import Followed
from bot.follow_up.record import Record, read_record, row, write_record
from bot.follow_up.situation import AskApproval, Kind, MarkReady, Rerun, StartRound, Step, Stop, Update, Wait
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.policy.publish_settings import FollowUpPolicy
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
        self.status, self.record, self.now = followed
        self.number = followed.situation.number

    def act(self, step: Step) -> None:
        """Do `step`, and show it in our comment. Raises `GitHubError`."""
        head = self.now.head
        match step:
            case Wait(why):
                self.say(f"#{self.number}: {why}")
                if self.record.comment is None:
                    self._write(f"**Following this pull request.** {_sentence(why)}")
            case AskApproval(runs):
                if self.record.asked != head:
                    links = ", ".join(f"[run {number}]({url})" for number, url in enumerate(runs, 1))
                    self._write(
                        f"**Waiting for somebody with write access** to approve the workflow runs: {links}",
                        asked=head,
                    )
            case Rerun(runs):
                self._spend(reran=self.record.spent.reran | {head})
                self._write("**Running failed jobs again.**", row(head, "failed jobs run again", "waiting"))
                for one in runs:
                    with self._noting(f"run {one} could not be repeated"):
                        self.github.rerun_failed_jobs(one)
            case Update(why):
                self._count(Kind.UPDATE, updated_to=self.record.spent.updated_to | {self.now.base_tip})
                self._write(f"**Merging the base branch.** {_sentence(why)}", row(head, "base merged", why))
                self.github.update_branch(self.number, head)
            case StartRound():
                self.begin(step)
            case MarkReady(ci):
                self._ready(ci=ci)
            case Stop(reason, who):
                self.stop(reason, who)

    def begin(self, step: StartRound) -> None:
        """Record the begin of a round: it counts from now on."""
        spent, head = self.record.spent, self.now.head
        failures = {one.fingerprint: head for one in step.checks if one.fingerprint}
        bots = {one.bot for one in step.threads if one.bot}
        self._count(
            step.kind,
            failures={**spent.failures, **failures},
            bots=spent.bots | bots,
            runs=spent.runs | {str(self.run)},
            lines=spent.lines or self.now.lines,
        )
        number = self.record.spent.count(Kind.FIX, Kind.REVIEW, Kind.CONFLICT)
        what = _WHAT[step.kind]
        self.record = self.record._replace(run=self.run, head=head, kind=step.kind.value)
        self._write(f"**Round {number} of {self.limits.rounds}:** {what}.", row(head, what, "running"))

    def lose_round(self) -> None:
        """The job of the round under way is gone, so the round does not count."""
        self.record = _ended_early(self.record)
        self.now = self.now._replace(running=False, spent=self.record.spent)
        self._write(
            "**Following this pull request.** The last round ended early.", replace_last="its job ended early"
        )

    def _ready(self, *, ci: bool) -> None:
        head = self.now.head
        said = "All checks pass" if ci else "There are no checks"
        if self.status.draft:
            with self._noting("it could not be marked as ready: the token needs `contents: write`"):
                self.github.mark_ready(self.status.id, self.number)
        if self.record.login and not (self.status.review_requested or self.now.approved):
            with self._noting("no review was requested"):
                self.github.request_review(self.number, self.record.login)
        if self.limits.auto_merge:
            with self._noting("auto-merge is not on"):
                self.github.enable_auto_merge(self.status.id, self.number, head)
        self.record = self.record._replace(ready=head)
        self._write(f"**Ready for review.** {said} at {head[:12]}.", row(head, said, "ready for review"))

    def stop(self, reason: str, who: str = "a maintainer") -> None:
        self.record = self.record._replace(stopped=reason, run=0)
        last = row(self.now.head, "stopped", reason)
        rows = () if self.record.rows[-1:] == (last,) else (last,)
        self._write(f"**Stopped:** {safe_line(reason)} Next: {who}.", *rows)

    def _count(self, kind: Kind, **more: object) -> None:
        counts = dict(self.record.spent.counts)
        counts[kind] = counts.get(kind, 0) + 1
        self._spend(counts=counts, **more)

    def _spend(self, **fields: object) -> None:
        self.record = self.record._replace(spent=self.record.spent._replace(**fields))  # type: ignore[arg-type]

    def _write(self, headline: str, *rows: str, asked: str = "", replace_last: str = "") -> None:
        known = _with_result(self.record.rows, replace_last) if replace_last else self.record.rows
        record = self.record._replace(rows=(*known, *rows), asked=asked or self.record.asked)
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


def end_round(github: GitHub, number: int, outcome: Outcome, published: PublishResult, problem: str) -> None:
    """Record the end of a round: its cost and its result. `problem` is what publishing failed at, before or after a
    push. Raises `GitHubError`."""
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
        result, headline = f"pushed {pushed[:12]}", "**Following this pull request.** Waiting for checks."
        spent = spent._replace(lost=0, void=0)
    elif outcome.stop_reason in INFRASTRUCTURE:
        spent = _ended_early(record._replace(spent=spent)).spent
        result = f"ended early: {outcome.reason}"
        headline = "**Following this pull request.** The last round ended early and is repeated."
    elif moved:
        spent, result = spent._replace(void=spent.void + 1), problem
        headline = "**Following this pull request.** The last round was void."
    else:
        stopped = f"The round changed nothing. {outcome.reason}"
        result = "it changed nothing"
        if problem:
            result = stopped = problem
        elif published.written:
            result, stopped = "answered without a change", "Only questions are left."
        elif outcome.status is Status.NEEDS_INPUT:
            result, stopped = (
                "it has a question",
                f"The round needs an answer: {outcome.question or outcome.reason}",
            )
        headline = f"**Stopped:** {safe_line(stopped)} Next: a maintainer."
    ended = record._replace(spent=spent, rows=_with_result(record.rows, result), run=0, stopped=stopped)
    write_record(github, number, ended, headline)


def _ended_early(record: Record) -> Record:
    """Return the record without the round under way, which the infrastructure ended."""
    counts, kind = dict(record.spent.counts), record.kind
    counts[kind] = max(0, counts.get(kind, 0) - 1)
    failures = {name: head for name, head in record.spent.failures.items() if head != record.head}
    spent = record.spent._replace(counts=counts, lost=record.spent.lost + 1, failures=failures)
    return record._replace(spent=spent, run=0)


def _with_result(rows: tuple[str, ...], result: str) -> tuple[str, ...]:
    """Return the rows with another result in the last one."""
    if not rows:
        return ()
    return (*rows[:-1], f"{rows[-1].rpartition(' | ')[0].removesuffix(' |')} | {safe_line(result)} |")


def arm(github: GitHub, number: int, by: int, login: str) -> str:
    """Arm a pull request by the request of an account, also after a stop. Returns a sentence for people."""
    record = read_record(github, number)
    again = record.comment is not None and bool(record.stopped)
    record = record._replace(
        stopped="", armed_by=by, login=login, run=0, spent=record.spent._replace(lost=0, void=0)
    )
    write_record(github, number, record, "**Following this pull request.**")
    return (
        "I follow this pull request again." if again else "I follow this pull request until it can be merged."
    )


def disarm(github: GitHub, number: int) -> bool:
    """Stop following, if the pull request is followed. Returns whether it was."""
    record = read_record(github, number)
    if record.comment is None or record.stopped:
        return False
    reason = "`/agent stop`."
    write_record(
        github, number, record._replace(stopped=reason, run=0), f"**Stopped:** {reason} Next: a maintainer."
    )
    return True


def _sentence(clause: str) -> str:
    return f"{clause[0].upper()}{clause[1:]}." if clause else ""
