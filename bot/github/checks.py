"""Checks of a commit: failures with their annotations and logs, and our own check runs."""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from github.CheckRun import CheckRun
from github.CheckRunAnnotation import CheckRunAnnotation
from github.CommitStatus import CommitStatus
from github.GithubObject import NotSet
from github.PaginatedList import PaginatedList

from bot.contracts.plain_text import printable
from bot.contracts.pulls import Annotation, FailedCheck, FailedStep
from bot.github.errors import GitHubError
from bot.github.runs import PIECE, Downloads
from bot.github.transport import unchanged

ACTIONS = "github-actions"
"""The slug of the app that Actions' own token is one of."""
FAILED = ("failure", "timed_out", "startup_failure", "action_required")
_FAILED_STATES = ("failure", "error")
# Annotations that are read of one check run.
ANNOTATIONS = 50
# Failed checks whose annotations and logs are read: the jobs of a failed matrix mostly report the same.
DETAILED = 3
# Bytes read of a log; only its last lines are kept.
LOG_LIMIT = 256 << 20


class Checks(Downloads):
    """Names, summaries, annotations and logs are untrusted text."""

    def check_runs(self, sha: str, name: str = "") -> Iterator[CheckRun]:
        """The latest run of each check on the commit `sha`, or of those called `name`."""
        runs = self.source.get_commit(sha).get_check_runs(name or NotSet)
        return self._each(runs, unchanged)

    def failed_checks(self, sha: str) -> list[FailedCheck]:
        """All failed checks of `sha`, the first three with annotations and logs of Actions' jobs, two requests each."""
        failed = [run for run in self.check_runs(sha) if run.conclusion in FAILED]
        return [self._failed(run, index < DETAILED) for index, run in enumerate(failed)]

    def failed_statuses(self, sha: str) -> list[FailedCheck]:
        """The contexts whose last commit status is a failure or an error; untrusted text."""
        path = f"{self.root}/commits/{sha}/status"
        rows = PaginatedList(CommitStatus, self.requester, path, list_item="statuses")

        def parse(one: CommitStatus) -> FailedCheck:
            return FailedCheck(one.context or "", one.state, one.target_url or "", one.description or "")

        return [one for one in self._each(rows, parse) if one.conclusion in _FAILED_STATES]

    def _failed(self, run: CheckRun, detailed: bool) -> FailedCheck:
        annotated = detailed and run.output and run.output.annotations_count
        of_actions = detailed and app_of(run) == ACTIONS
        texts = (run.output.title, run.output.summary) if run.output else ()
        return FailedCheck(
            name=run.name,
            conclusion=run.conclusion,
            url=run.html_url or "",
            summary="\n\n".join(text.strip() for text in texts if text and text.strip()),
            annotations=self._annotations(run) if annotated else (),
            steps=self._steps(run.id) if of_actions else (),  # a job has the id of its check run
        )

    def _annotations(self, run: CheckRun) -> tuple[Annotation, ...]:
        check_run = CheckRun(self.requester, url=f"{self.root}/check-runs/{run.id}")

        def parse(one: CheckRunAnnotation) -> Annotation:
            title, message = (one.title or "").strip(), (one.message or "").strip()
            message = f"{title}: {message}" if title else message
            return Annotation(one.path, one.start_line or 0, one.annotation_level or "", message)

        return tuple(islice(self._each(check_run.get_annotations(), parse), ANNOTATIONS))

    def _steps(self, job_id: int) -> tuple[FailedStep, ...]:
        """Failed steps with their logs; if the log cannot be read, the error message is in its place."""
        path = f"{self.root}/actions/jobs/{job_id}/logs"
        try:
            with self._download(path) as (_, pieces):
                return failed_steps(islice(pieces, LOG_LIMIT // PIECE))
        except GitHubError as error:
            return (FailedStep("", str(error)),)

    def create_check_run(
        self, *, name: str, head_sha: str, title: str, summary: str, external_id: str
    ) -> None:
        """Create a completed, neutral check run. Only apps may make one."""
        self.source.create_check_run(
            name,
            head_sha,
            external_id=external_id,
            status="completed",
            conclusion="neutral",
            output={"title": title, "summary": summary},
        )


def app_of(run: CheckRun) -> str:
    """Return the slug of the app that made a check run."""
    return run.app.slug if run.app else ""


LINES = 200
MOST_STEPS = 5
# Characters of one line that are kept; a minified file in a log is one line.
LINE_LIMIT = 1_000
_PENDING = 1 << 14

_STAMP = re.compile(r"\A\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z ?")
_RUN = "##[group]Run "
_COMMAND = re.compile(r"##\[(group|endgroup|error|warning|notice|debug|command|section)\]")
_PREFIXES = {"error": "Error: ", "warning": "Warning: ", "notice": "Notice: "}


def failed_steps(pieces: Iterable[bytes]) -> tuple[FailedStep, ...]:
    """Return the last steps with an error in a job's log, with the last lines up to it; without any, the log's end."""
    name, lines, step = "", deque[str](maxlen=LINES), 0
    failed = deque[tuple[int, str, Sequence[str]]](maxlen=MOST_STEPS)
    for line in lines_of(pieces):
        line = _STAMP.sub("", line, count=1)
        if line.startswith(_RUN):
            name, step = printable(line.removeprefix(_RUN)).strip(), step + 1
            lines.clear()
        lines.append(line)
        if line.startswith("##[error]"):
            if failed and failed[-1][0] == step:
                failed.pop()
            failed.append((step, name, tuple(lines)))
    steps = failed or ([(step, name, lines)] if lines else [])
    return tuple(FailedStep(name, "\n".join(readable(lines))) for _, name, lines in steps)


def lines_of(pieces: Iterable[bytes]) -> Iterator[str]:
    """Lines as text, each cut at a limit, so that a log without line ends cannot fill the memory."""
    rest = b""
    for piece in pieces:
        *whole, last = piece.split(b"\n")
        if not whole:
            rest = (rest + last)[:_PENDING]
            continue
        yield _decoded(rest + whole[0])
        yield from map(_decoded, whole[1:])
        rest = last[:_PENDING]
    if rest:
        yield _decoded(rest)


def readable(lines: Iterable[str]) -> Iterator[str]:
    """Lines without the runner's commands, terminal sequences and text overwritten after a carriage return."""
    for line in lines:
        match = _COMMAND.match(line)
        if match and match.group(1) == "endgroup":
            continue
        text = _PREFIXES.get(match.group(1), "") + line[match.end() :] if match else line
        text = printable(text.rstrip("\r").rpartition("\r")[2]).rstrip()
        yield text if len(text) <= LINE_LIMIT else f"{text[:LINE_LIMIT]} …"


def _decoded(line: bytes) -> str:
    return line[:_PENDING].decode(errors="replace")
