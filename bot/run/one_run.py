"""One run from its parts: what the model is given, the conversation, and who judges it.

Whatever ends the conversation, the gate still looks at the tree. What only the end of a run needs is imported there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot import __version__
from bot.agent.compaction import Summaries
from bot.agent.loop import LoopEnd, Session
from bot.agent.loop import run as converse
from bot.agent.masking import last_request_hands_over
from bot.agent.prompt import new_marker, system_prompt
from bot.agent.task import LastRun, first_message
from bot.contracts import journal as lines
from bot.contracts.limits import Limits
from bot.contracts.messages import Usage
from bot.contracts.model import Provider
from bot.contracts.outcome import StopReason
from bot.contracts.tools import ToolSpec
from bot.policy.budget import RunBudget
from bot.policy.decide import may_write
from bot.providers.connect import adapted
from bot.providers.models import cost
from bot.run.background import Background
from bot.run.parts import Run
from bot.run.pictures import Pictures, begin_to_look
from bot.run.signals import cancelled_after
from bot.run.terms import Ended
from bot.run.tools import RunToolbox
from bot.run.waits import WatchedProvider

if TYPE_CHECKING:
    from bot.run.gone_on import Kept
    from bot.run.resume import Resumed


def hold(run: Run, provider_under_way: Background[Provider]) -> Ended:
    """Start what must be there, hold the conversation, judge what came of it."""
    pictures = begin_to_look(run.job, run.asked, run.policy, run.confinement, provider_under_way, run.stop)
    last = _resume(run)
    run.trees.begin(run.stop)
    if not run.trees.need_preparing:
        run.workshop.open()
    provider = WatchedProvider(adapted(provider_under_way.result(), run.policy.models), run.job.say)
    run.model = provider.info.name
    budget = run.budget
    run.rounds.end_by(budget.minutes)
    session = _session(run, provider, budget, last)
    forget = run.stop.on_fire(lambda: run.cancel.fire("signal"))
    try:
        with cancelled_after(run.cancel, budget.minutes):
            end = _converse(run, session, last.last if last else None, pictures)
            end = _titled(run, session, end)
    finally:
        forget()
        provider.close()
    from bot.run.concluding import conclude

    return conclude(run, end, provider.info)


def _resume(run: Run) -> Resumed | None:
    """The last run's change into the tree, before any workshop sees it."""
    if run.last is None:
        return None
    from bot.run.resume import resume

    rule = may_write(run.policy, run.tier, run.asking.approved)
    return resume(run.last, run.checkout, run.job.source, rule)


def _session(run: Run, provider: Provider, budget: RunBudget, last: Resumed | None) -> Session:
    """What the loop works with; the journal's first lines are written."""
    turns = min(budget.turns, run.profile.turns or budget.turns)
    printed = (budget.commands, budget.output) if budget.runs_commands else (None, None)
    limits = Limits(turns, budget.tokens, budget.usd, budget.minutes, *printed)
    run.toolbox = toolbox = RunToolbox(
        run.workshop, run.gatekeeper, run.profile, run.results.of(run.profile), lambda: run.listening.turn,
        overlaps=run.subagents.tool.read_only,
    )  # fmt: skip
    system, tools = system_prompt(run.profile.prompt, toolbox.specs), toolbox.specs
    kept, said = _conversation(run, system, tools)
    if kept is not None:
        system, tools = kept.system, kept.tools
    run.journal.write(_header(run, provider, system, tools, limits))
    run.job.folder.keep_header()
    for note in (*said, *run.skills.notes):
        run.journal.write(lines.Note(note))
    if last and last.files:
        run.journal.write(lines.FilesChanged(0, last.files, note="the change of the run before this one"))
    base, wall = run.checkout.base_sha[:12], run.confinement.name
    run.job.say(f"at commit {base}, with {provider.info.name}, sandbox {wall}")
    session = Session(
        provider, system, toolbox, run.journal, limits, run.cancel, run.listening.hooks(),
        stop_on_denial=run.policy.on_deny == "stop",
        price=cost,
        compaction=Summaries(provider, run.archive, cost),
        identity=new_marker(),
        masking=last_request_hands_over(run.profile.results),
        before=kept.messages if kept else (), tools=tools, lent=lambda: run.models.provider,
    )  # fmt: skip
    return run.subagents.begin(session)


def _conversation(run: Run, system: str, tools: tuple[ToolSpec, ...]) -> tuple[Kept | None, tuple[str, ...]]:
    """The conversation that is gone on with, and what is to be noted of it."""
    if run.last is None or run.job.resume is None:
        return None, ()
    from bot.publish.bundle.files import JOURNAL
    from bot.run.gone_on import Now, conversation

    found = conversation(run.job.resume / JOURNAL, Now(run.job.request, run.model, system, tools))
    kept, said = (None, (found,)) if isinstance(found, str) else (found, found.notes)
    for note in said:
        run.job.say(note)
    return kept, said


def _header(
    run: Run, provider: Provider, system: str, tools: tuple[ToolSpec, ...], limits: Limits
) -> lines.Header:
    policy_sha = run.checkout.policy_sha
    return lines.Header(
        schema=lines.SCHEMA_VERSION,
        version=__version__,
        started_at=run.started_at,
        model=provider.info.name,
        info=provider.info,
        base_sha=run.checkout.base_sha,
        request=run.job.request,
        system=system,
        tools=tools,
        limits=limits,
        sandbox=run.confinement.name,
        policy_sha="" if policy_sha == run.checkout.base_sha else policy_sha,
    )


def _converse(
    run: Run, session: Session, last: LastRun | None, pictures: Background[Pictures] | None
) -> LoopEnd:
    if run.reviewing and run.reviewing.nothing_new:
        reason = "Nothing of the diff is new since it was reviewed last."
        return LoopEnd(StopReason.END_TURN, reason, 0, Usage(), 0.0, "")
    facts = run.briefing.facts()
    if session.before:
        from bot.run.gone_on import told

        facts = facts._replace(notes=(*facts.notes, told(run.job.resume, run.job.folder.archive)))
    seen = (pictures.result() if pictures else Pictures(run.asked)).besides(session.before)
    for note in (*seen.told, *seen.left):
        run.journal.write(lines.Note(note))
    facts = facts._replace(pictures=seen.told)
    return converse(session, first_message(seen.request, facts, new_marker(), last), seen.images)


def _titled(run: Run, session: Session, end: LoopEnd) -> LoopEnd:
    """A change that nobody described gets a title where neither a thread nor the request has one for it."""
    if run.profile.read_only or run.job.request.thread or run.results.describe.description.title:
        return end
    from bot.agent.title import titled

    title, end = titled(session, run.job.request.wish, end)
    if title:
        run.results.describe.call_it(title)
    return end
