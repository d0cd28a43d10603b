"""The threads of a maintenance task as text for the model. Strangers wrote most of it; whoever shows it fences it."""

from __future__ import annotations

from collections.abc import Iterator

from bot.contracts.triage import Triage, TriageThread


def triage_text(triage: Triage) -> str:
    """All that the gatherer let through: it has kept them to a length already."""
    parts = [f"It is {triage.at}."]
    if triage.left_out:
        parts.append(f"(Left out: {'; '.join(triage.left_out)}.)")
    for thread in triage.threads:
        parts += _thread(thread)
    return "\n\n".join(parts)


def _thread(thread: TriageThread) -> Iterator[str]:
    seen = thread.state
    kind = "Pull request" if seen.is_pull_request else "Issue"
    labels = ", ".join(seen.labels) or "none"
    yield (
        f"{kind} #{seen.number} by {thread.author}, {thread.created_at[:10]}: {thread.title}\n"
        f"labels: {labels}; last activity: {seen.quiet_since[:10]}; {_told(thread)}"
    )
    if thread.body.strip():
        yield thread.body.strip()
    for one in thread.comments:
        yield f"Comment on #{seen.number} by {one.author}, {one.created_at[:10]}:\n{one.body.strip()}"


def _told(thread: TriageThread) -> str:
    seen = thread.state
    if not seen.told_at:
        return "this task has not commented on it"
    since = "something has happened since" if seen.answered else "nothing has happened since"
    return f"this task commented on {seen.told_at[:10]}, and {since}"
