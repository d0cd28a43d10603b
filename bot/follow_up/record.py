"""The one comment that a followed pull request has: what people read of it, and what the next wake-up knows by it.

The mark holds everything that only grows. Anybody can copy a mark, so only those by our account count; and the numbers
in it are raised to those of the branch's own commits and of the fixes of failed runs. With `GITHUB_TOKEN` each workflow
writes as the same account: a forged mark can stop the loop, never prolong it.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from bot.contracts.formatting import count_of, money
from bot.contracts.request import ROUND_ARTIFACT
from bot.events.event_request import NoRequestError
from bot.follow_up.situation import ROUNDS, Kind, Spent
from bot.github.client import GitHub
from bot.github.values import CommentData
from bot.publish.change.commit import ROUND_TRAILER
from bot.publish.markdown import safe_line
from bot.publish.thread.comments import OwnComment, own_comments
from bot.publish.thread.markers import TRIES, MarkFields, mark, mark_of, marked

FOLLOWED = "followed"
"""The kind of the comment."""

_TRAILERS = re.compile(rf"^{ROUND_TRAILER}: ([a-z]+)$", re.MULTILINE)
_REASON_GONE = "The comment was edited."
_MOST_KEPT = 40
"""Of the failures in the mark."""


class Record(NamedTuple):
    """`comment` is our comment, `None` before it is written. `rows` are what was done, a line each. `armed_by` and
    `login` are the account that armed it, 0 and empty for the policy. `stopped` is why nothing more is done, `ready`
    the head that was said to be ready. `run` is the Actions run
    that works on a round of `kind` for `head`, 0 for none. `most_rounds` and `most_usd` are the policy's limits, 0 if
    unknown. `tries` are the keys of the requests that failed runs made."""

    comment: CommentData | None = None
    spent: Spent = Spent()
    rows: tuple[str, ...] = ()
    armed_by: int = 0
    login: str = ""
    stopped: str = ""
    ready: str = ""
    run: int = 0
    head: str = ""
    kind: str = ""
    most_rounds: int = 0
    most_usd: float = 0.0
    tries: frozenset[str] = frozenset()

    @property
    def used(self) -> str:
        """Rounds and money in one sentence."""
        rounds, usd = count_of(self.spent.count(*ROUNDS), "round"), money(self.spent.usd)
        if not self.most_rounds:
            return f"{rounds}, {usd}."
        return f"{rounds} of {self.most_rounds}, {usd} of {money(self.most_usd)}."

    @property
    def state(self) -> str:
        """The first line of the comment, with rounds and money; empty without a comment."""
        return f"{self.comment.body.partition(chr(10))[0].strip()} {self.used}" if self.comment else ""


def read_record(github: GitHub, number: int, messages: Iterable[str] = ()) -> Record:
    """Return what our comments on the pull request say. `messages` are those of its commits. Raises `GitHubError`."""
    comments = list(own_comments(github, github.comments(number)))
    tries = frozenset(one.key for one in comments if one.key.startswith(TRIES))
    own = next((one for one in comments if one.kind == FOLLOWED and one.ours), None)
    spent = _raised(_parse_spent(own) if own else Spent(), len(tries), messages)
    if own is None:
        return Record(spent=spent, tries=tries)
    fields, data = own.fields, own.data
    lines = (line for line in data.body.splitlines() if line.startswith("| "))
    stopped = re.search(r"^\*\*Stopped:\*\* (.+?)(?: Next: .+)?$", data.body, re.MULTILINE)
    return Record(
        comment=data,
        spent=spent,
        rows=tuple(line for line in lines if not line.startswith(("| Head", "| ---"))),
        armed_by=own.number("by"),
        login=fields.get("login", ""),
        stopped=(stopped.group(1) if stopped else _REASON_GONE) if fields.get("state") == "stopped" else "",
        ready=fields.get("ready", ""),
        run=own.number("run"),
        head=fields.get("head", ""),
        kind=fields.get("round", ""),
        most_rounds=own.number("rounds"),
        most_usd=own.number("most") / 100,
        tries=tries,
    )


def _parse_spent(own: OwnComment) -> Spent:
    fields, number = own.fields, own.number
    return Spent(
        counts={kind: number(kind) for kind in Kind},
        usd=number("cents") / 100,
        lost=number("lost"),
        void=number("void"),
        done=frozenset(_listed(fields, "done")),
        failures=dict(one.split("-", 1) for one in _listed(fields, "failures") if "-" in one),
        runs=frozenset(_listed(fields, "runs")),
        lines=number("lines"),
    )


def _raised(spent: Spent, tries: int, messages: Iterable[str]) -> Spent:
    """Return `spent` with at least as many rounds of each kind as the branch has commits and failed runs began."""
    rounds = [kind for one in messages for kind in _TRAILERS.findall(one)]
    rounds += [Kind.FIX] * (tries - rounds.count(Kind.FIX))
    return spent._replace(counts={kind: max(spent.counts.get(kind, 0), rounds.count(kind)) for kind in Kind})


def count_rounds(github: GitHub, number: int, spent: Spent) -> Spent:
    """Return `spent` with the rounds whose bundles Actions keeps: one request. Raises `GitHubError`."""
    return spent._replace(bundles=github.count_artifacts(f"{ROUND_ARTIFACT}{number}"))


def write_record(github: GitHub, number: int, record: Record, headline: str) -> Record:
    """Write the comment, unless it says all that already. Raises `GitHubError`, and `NoRequestError` if it was stopped
    since `record` was read."""
    head = ["", "| Head | What was done | Result | Cost |", "| --- | --- | --- | --- |"]
    last = f"<sub>{record.used} `/agent stop` ends this, `/agent follow` goes on.</sub>"
    text = "\n".join([headline, *(head if record.rows else []), *record.rows, "", last])
    body = marked(text, mark(FOLLOWED, **_fields(record)))
    if record.comment is None:
        return record._replace(comment=github.create_comment(number, body))
    if record.comment.body.replace("\r\n", "\n").strip() != body.strip():
        for now in github.comments(number, record.comment.updated_at):
            if now.id == record.comment.id and _is_stopped(now) and not _is_stopped(record.comment):
                raise NoRequestError(f"#{number} was stopped meanwhile")
        github.edit_comment(record.comment.id, body)
    return record


def _is_stopped(comment: CommentData) -> bool:
    return mark_of(comment.body)[1].get("state") == "stopped"


def rounds_of(github: GitHub, account: int, now: str) -> set[str]:
    """Return the Actions runs of rounds that the account armed, 0 for the policy: where the comment changed
    on the day `now`."""
    today = own_comments(github, github.comments_of_all(f"{now[:10]}T00:00:00Z"))
    armed = (one.fields for one in today if one.ours and one.kind == FOLLOWED and one.number("by") == account)
    return {run for fields in armed for run in _listed(fields, "runs")}


def row(head: str, done: str, result: str) -> str:
    """Return a line of the table."""
    return f"| {head[:12]} | {safe_line(done)} | {safe_line(result)} | – |"


def with_result(rows: tuple[str, ...], result: str, cost: str = "–") -> tuple[str, ...]:
    """Return the rows with another result, in Markdown, and cost in the last one."""
    *before, last = rows or ("",)
    known = " | ".join(last.split(" | ")[:2])
    return (*before, f"{known} | {result} | {cost} |") if last else ()


def _fields(record: Record) -> dict[str, str]:
    spent = record.spent
    failures = [f"{name}-{head}" for name, head in spent.failures.items()]
    values = {
        "state": "stopped" if record.stopped else "on",
        **spent.counts,
        "cents": round(spent.usd * 100),
        "lost": spent.lost,
        "void": spent.void,
        "lines": spent.lines,
        "run": record.run,
        "by": record.armed_by,
        "rounds": record.most_rounds,
        "most": round(record.most_usd * 100),
        "ready": record.ready,
        "head": record.head,
        "round": record.kind,
        "login": record.login,
        "done": ".".join(sorted(spent.done)),
        "failures": ".".join(failures[-_MOST_KEPT:]),
        "runs": ".".join(sorted(spent.runs)),
    }
    return {name: str(value) for name, value in values.items() if value}


def _listed(fields: MarkFields, name: str) -> list[str]:
    return list(filter(None, fields.get(name, "").split(".")))
