"""`help`, `status` and `stop`: answered at once, without a model, a checkout or a sandbox."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bot.contracts.request import Request, Thread, Verb
from bot.github.host import Host
from bot.intake.request import Admission
from bot.policy.schema import Policy


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, by whom, where. `run` is the Actions run that answers, 0 outside Actions, `workflow` its file;
    `now` is the time (RFC 3339)."""

    request: Request
    thread: Thread
    policy: Policy
    admission: Admission
    run: int = 0
    workflow: str = ""
    now: str = ""

    def may(self, verb: Verb) -> bool:
        """For what is said of it alone: whether a request is carried out is decided where one is made."""
        actor = self.request.actor
        return self.admission.permits(actor, verb, on_own_thread=self.thread.author == actor.login)


def answer(question: Question, host: Host) -> str:
    """The whole answer, as Markdown. Raises `GitHubError`."""
    return _ANSWERS[question.request.verb](question, host)


def _help(question: Question, host: Host) -> str:
    from bot.run.instant_help import help_text

    return help_text(question)


def _status(question: Question, host: Host) -> str:
    from bot.run.instant_status import status_text

    return status_text(question, host)


def _stop(question: Question, host: Host) -> str:
    from bot.run.instant_stop import stop

    return stop(question, host)


_ANSWERS: Mapping[Verb, Callable[[Question, Host], str]] = {
    Verb.HELP: _help,
    Verb.STATUS: _status,
    Verb.STOP: _stop,
}
