"""What a pull request is told when a commit of the bot's was put on its head: the same a new one's text would say."""

from __future__ import annotations

from bot.contracts.outcome import Status
from bot.contracts.pulls import PullRequest
from bot.publish.body.render import render_body
from bot.publish.change.commit import Prepared
from bot.publish.change.work import Work
from bot.publish.thread.comments import put_result
from bot.publish.thread.markers import PUSHED
from bot.publish.thread.place import Place, place_of


def tell_pushed(work: Work, now: PullRequest, prepared: Prepared) -> tuple[str, ...]:
    """Once for a request, however often it is published; soft failures. Raises `GitHubError`."""
    place = place_of(work.request) or Place(work.repository, now.number, f"commit-{prepared.sha[:12]}")
    body = render_body(
        work.outcome, prepared.verdict.files, work.outcome.withheld, links=work.links, closing=False
    )
    if place.lines:
        body = f"<details><summary>What changed, and how it was checked</summary>\n\n{body}\n\n</details>"
    text = f"**Pushed {prepared.sha} to this pull request.**\n\n{body}"
    fields = {} if work.outcome.status is Status.PARTIAL else {"result": "done"}
    return put_result(work.host, place, PUSHED, text, "Pushed", fields)
