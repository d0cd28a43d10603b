"""What thread and log are told while an event is handled: the progress comment, each call, and trouble that no
bundle tells of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType

from bot.agent.loop import TurnInfo
from bot.contracts.outcome import Outcome, Status
from bot.contracts.wording import money, sentence
from bot.gate.detect import Detector
from bot.gate.github import know
from bot.gate.redact import Redactor
from bot.gate.secrets import Finder
from bot.github.errors import GitHubError
from bot.github.host import Host
from bot.github.recorder import Recorder
from bot.publish.body.footer import Links
from bot.publish.text.shown import shown_line
from bot.publish.thread.comments import post, put_comment, with_mark, written_at
from bot.publish.thread.ended import end_text, pending_line
from bot.publish.thread.markers import ENDED, REFUSED, is_ours, told_to
from bot.publish.thread.place import Place
from bot.publish.thread.progress import Progress, ProgressState, close_progress
from bot.publish.thread.spending import cost
from bot.run.clients import client_for
from bot.run.github_env import GitHubEnvironment
from bot.run.lines import turn_lines, waiting_line, while_heard
from bot.run.secrets import known_secrets

Say = Callable[[str], None]

_LONGEST_TROUBLE = 1_000
_A_DAY = timedelta(days=1)
# What the run itself can say for good: publishing says the same.
_NOTHING_FOLLOWS = (Status.NO_CHANGE, Status.PARTIAL, Status.REFUSED, Status.FAILED)


class ProgressComment:
    """The one comment that is edited as the run goes on; nothing where nobody asked in a thread.

    What GitHub would not take is said through `watch` at the end: no run fails because of its comment.
    """

    def __init__(self, comment: Progress | None, run_url: str, watch: Say) -> None:
        self._comment = comment
        self._run_url = run_url
        self._watch = watch

    def begin(self) -> None:
        self._show("Working on it")

    def turn(self, info: TurnInfo) -> None:
        done = ", ".join(call.name for call in info.calls) or "thinking"
        self._show(
            "Working on it",
            f"turn {info.turn}: {done}",
            f"{info.usage.total} tokens, {money(info.cost)} so far",
        )

    def waiting(self, text: str) -> None:
        """What goes on between two turns."""
        self._show("Working on it", text)

    def end(self, outcome: Outcome) -> None:
        """The last word of the run. What publishing makes of it takes its place; if publishing never comes, this is
        still true."""
        text = pending_line(outcome, self._run_url)
        if outcome.request.dry_run:
            run = f"[the run]({self._run_url})" if self._run_url else "the run"
            text = f"**Dry run, nothing was published.** What would have been is in the log of {run}."
        elif not outcome.files and outcome.status in _NOTHING_FOLLOWS:
            text = end_text(outcome, Links(run=self._run_url))
        self._close(ProgressState("", fields=cost(outcome.cost), body=text))

    def fail(self, trouble: str = "") -> None:
        """There is no outcome. `trouble` is what went wrong, one sentence."""
        self._close(ProgressState("", body=trouble_text(trouble, self._run_url)))

    def _show(self, headline: str, *lines: str) -> None:
        if self._comment is not None:
            self._comment.update(ProgressState(headline, lines, self._run_url))

    def _close(self, state: ProgressState) -> None:
        if self._comment is not None:
            self._comment.close(replace(state, over=True))
            if self._comment.problem:
                self._watch(f"note: the progress comment was not kept up to date: {self._comment.problem}")


class JobLog:
    """What the log of a job says while a run goes on. Anybody may read the log of a public repository, and a model
    wrote what is in these lines."""

    def __init__(self, watch: Say, environment: Mapping[str, str], finder: Finder | None = None) -> None:
        """`finder` knows the repository's own rules for secrets."""
        self._watch = while_heard(watch)
        self._detector = Detector(Redactor(known_secrets(environment)), finder)

    def turn(self, info: TurnInfo) -> None:
        for line in turn_lines(info, self.safe):
            self._watch(line)

    def waiting(self, text: str) -> None:
        self._watch(waiting_line(self.safe(text)))

    def safe(self, text: str) -> str:
        """`text` as the journal keeps it."""
        return self._detector.kept(text) if text else text


def progress_comment(
    place: Place | None, where: GitHubEnvironment, say: Say, watch: Say, *, dry_run: bool, comment: int = 0,
    fields: Mapping[str, str], environment: Mapping[str, str], finder: Finder | None = None,
) -> ProgressComment:  # fmt: skip
    """The comment at `place`, none without one; with `dry_run` its writes go to `say`. `comment` is the id of the one
    that was begun before the program was installed, 0 for none. `fields` go into its mark, and `finder` knows the
    repository's own rules for secrets."""
    if place is None:
        return ProgressComment(None, "", watch)

    def host() -> Host:
        # A client of its own: it is used on the comment's thread, and a client is not for two.
        client = client_for(where, environment)
        if finder is not None:
            know(client, finder)
        return Recorder(client, say, client.leaving) if dry_run else client

    return ProgressComment(Progress(host, place, comment=comment, fields=fields), where.run_url, watch)


def tell(
    host: Host, place: Place, text: str, watch: Say, fields: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Answer a request in its thread: in the progress comment if that still says that somebody works on it, else in a
    comment of its own. `fields` go into its mark. If GitHub does not take it, `watch` gets to know: the run's own end
    matters more, so nothing is raised."""
    if not place.number:
        return
    try:
        if not close_progress(host, place, text, fields):
            put_comment(host, place, ENDED, text, fields)
    except GitHubError as error:
        watch(f"note: the thread could not be told: {error}")


def trouble_text(trouble: str, run_url: str) -> str:
    """Why nothing will come of a request."""
    run = f" · [run]({run_url})" if run_url else ""
    return f"**The run failed.** {shown_line(sentence(trouble), _LONGEST_TROUBLE)}".rstrip() + run


def tell_stranger(
    host: Host, place: Place, kind: str, text: Callable[[], str], account: int, now: str, watch: Say
) -> bool:
    """Say `text` to somebody without any right: one word of ours a day in a thread, and then nothing. Whether it
    was said."""
    if not place.number:
        return False
    yesterday = (datetime.fromisoformat(now) - _A_DAY).strftime("%Y-%m-%dT%H:%M:%SZ")
    talk = replace(place, since=yesterday)
    try:
        for comment in written_at(host, talk):
            if told_to(comment.body) == str(account) and is_ours(comment.author, host.me(), REFUSED):
                watch("note: they were answered today, so the thread is not told again")
                return False
        post(host, talk, with_mark(talk, kind, text(), {"to": str(account)}))
    except GitHubError as error:
        watch(f"note: the thread could not be told: {error}")
        return False
    return True
