"""One job, from a request to what it has to show: checkout, policy, workshop, conversation, gate, checks.

What costs time is overlapped: the vendor's package is imported while git and the sandbox work, and the checks
before the change run while the model reads. What only the end of a run needs is imported there. Whatever ends the
conversation, the gate still looks at the tree.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.agent.journal import Journal
from bot.checkout.clone import prepare
from bot.checkout.git import require_git
from bot.checkout.leftovers import FIX, left_behind
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import UsageError
from bot.contracts.journal import Note
from bot.contracts.model import Provider
from bot.contracts.request import Request, Verb
from bot.contracts.wording import count_of
from bot.gate.detect import Detector
from bot.gate.redact import Redactor
from bot.providers.served import with_served_window
from bot.run.background import Background
from bot.run.base import base_finder, base_policy, base_task
from bot.run.lock import held
from bot.run.narrating import Narrator
from bot.run.one_run import hold
from bot.run.parts import Run
from bot.run.secrets import known_secrets
from bot.run.skills import begin_to_find
from bot.run.terms import Ended, Job
from bot.sandbox.choose import candidates
from bot.workshop.client.wall import Chosen, first_that_holds

if TYPE_CHECKING:
    from bot.publish.bundle.read import Bundle
    from bot.tasks.task import Task


__all__ = ["Ended", "Job", "run_job"]


def run_job(job: Job, stop: CancelToken) -> Ended:
    """Do `job`. `stop` is fired by signals. Raises an `AgentError` for what goes wrong before the first request;
    from then on whatever happens is in the outcome. A run that does not get so far leaves nothing behind. Where another
    run has the folder, it raises `FolderBusy` and touches nothing."""
    with held(job.folder.root):
        try:
            return _begin(job, stop)
        except BaseException:
            if not job.folder.begun:
                job.folder.drop()
            raise


def _begin(job: Job, stop: CancelToken) -> Ended:
    _refuse_in_vain(job.request)
    require_git()
    sandboxes = candidates(job.sandbox)
    last = _last_bundle(job)
    provider = Background(lambda: with_served_window(job.connect()), "connect")
    redactor = Redactor(known_secrets(job.environment))
    prepared = Background(Detector(redactor).prepare, "detector")
    wall = Background(lambda: first_that_holds(*sandboxes), "wall")
    try:
        return _go_on(job, stop, last, provider, redactor, wall)
    finally:
        prepared.wait()  # a process that ends while a thread of it is in re2 is aborted
        wall.wait()  # else the processes and folders of its probe would stay behind


def _go_on(
    job: Job, stop: CancelToken, last: Bundle | None, provider: Background[Provider], redactor: Redactor,
    wall: Background[Chosen],
) -> Ended:  # fmt: skip
    job = _with_leftovers(job)
    checkout = prepare(job.source, job.folder.root)
    task = base_task(checkout, job.request)
    skills = begin_to_find(checkout)
    policy = base_policy(checkout, job.request, task)
    detector = Detector(redactor, base_finder(checkout, policy))
    say = job.say
    job = replace(job, say=lambda text: say(detector.kept(text)))
    if task is not None and task.threads is not None:
        job = _with_threads(job, task)
    if policy.history != 1:
        checkout = prepare(job.source, job.folder.history, history=policy.history)
    with ExitStack() as stack:
        journal = stack.enter_context(Journal(job.folder.journal, detector.kept))
        if job.view is not None:
            journal.watch = Narrator(job.view.tell, detector.kept, lambda why: journal.write(Note(why)))
        chosen = wall.result()
        for note in chosen.wall.notes:
            job.say(f"warning: {note}")
        run = Run(
            job, checkout, policy, chosen.confinement, journal, detector, stop, stack, skills, last, task
        )
        ended = hold(run, provider)
        return replace(ended, outcome=replace(ended.outcome, wall=chosen.wall))


def _refuse_in_vain(request: Request) -> None:
    if request.verb is Verb.APPROVE and request.plan is None:
        raise UsageError("There is no approved plan to carry out: `/agent plan` makes one.")


def _with_leftovers(job: Job) -> Job:
    """On a runner, what earlier steps left behind is told of: the sandbox does not see it, later steps do."""
    temporary = job.environment.get("RUNNER_TEMP")
    found = left_behind(job.origin, job.environment) if temporary else ()
    if not found:
        return job
    return replace(
        job, notes=(*job.notes, *(f"{sentence} The agent does not see it; {FIX}." for sentence in found))
    )


def _with_threads(job: Job, task: Task) -> Job:
    if job.threads is None:
        raise UsageError(f"The task {task.name} is about threads on GitHub, and there are none here.")
    triage = job.threads(task)
    job.say(f"{count_of(len(triage.threads), 'thread')} to look at")
    return replace(job, request=replace(job.request, triage=triage))


def _last_bundle(job: Job) -> Bundle | None:
    if job.resume is None:
        return None
    from bot.run.resume import last_bundle

    return last_bundle(job.resume, job.request)
