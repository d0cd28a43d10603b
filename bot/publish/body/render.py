"""Render the pull request's title and text from the outcome and the gate's verdict, and the last line of our texts.

Pure and deterministic, so that a second `publish` changes nothing. Failing checks come first, then what takes a minute
to read; the rest is folded. The length of each part is limited, so that the whole stays below GitHub's 65,536
characters.
"""

from collections.abc import Sequence
from typing import Any

from bot.contracts.outcome import ChangedFile, Outcome, Status
from bot.evidence.look_first import denied, held_back
from bot.evidence.view import view_of
from bot.publish.body.order_and_footer import NO_LINKS, PARTS, Links, footer, joined
from bot.publish.body.repository_template import fill_template
from bot.publish.macros import folded_sections, macros_of, one_line
from bot.publish.markdown import shortened
from bot.verbs.record import Earlier
from bot.verbs.registry import needs

LIMIT = 65_000
_EVIDENCE_SHOWN = 20
_ROWS_SHOWN = 60
# The scales of the parts' limits, tried in order until the whole is short enough.
_SCALES = (1.0, 0.4, 0.1)


def closing_line(outcome: Outcome, keyword: str) -> str:
    """Return `Fixes #N`, or `Refs #N` if merging does not resolve the issue; empty without a thread."""
    thread = outcome.request.thread
    if thread is None:
        return ""
    settles = outcome.status is not Status.PARTIAL and not thread.is_pull_request
    return f"{keyword if settles else 'Refs'} #{thread.number}"


def render_body(
    outcome: Outcome,
    files: Sequence[ChangedFile],
    *,
    keyword: str = "Fixes",
    links: Links = NO_LINKS,
    template: str = "",
    closing: bool = True,
) -> str:
    """Return the body without its mark. Without `closing` the thread, where it is posted, is not named."""
    macros, body = macros_of("pull_request"), ""
    line = closing_line(outcome, keyword) if closing else ""
    for scale in _SCALES:
        view = _view(outcome, files, links, scale)
        parts = {name: str(getattr(macros, name)(view)).strip() for name in PARTS if name != "closing"}
        parts["closing"] = line
        body = fill_template(template, parts, scale) if template.strip() else joined(parts)
        if len(body) <= LIMIT:
            return body
    return shortened(body, LIMIT)


def _view(outcome: Outcome, files: Sequence[ChangedFile], links: Links, scale: float) -> dict[str, Any]:
    request, thread = outcome.request, outcome.request.thread
    view = view_of(outcome, files, scale)
    return {
        "outcome": outcome,
        "request": request,
        "links": links,
        "shown": view,
        "scale": scale,
        "rows": int(_ROWS_SHOWN * scale),
        "headline": view.summary.headline[:1].upper() + view.summary.headline[1:],
        "asked_in": f"#{thread.number}" if thread else "the request",
        "request_url": request.trigger.url if request.trigger else (thread.url if thread else ""),
        "approved": not needs(request.verb, Earlier.RUN),
        "most": int(_EVIDENCE_SHOWN * scale),
        "sections": list(folded_sections(view, outputs=scale == 1)),
        "files": sorted(files, key=lambda file: not file.sensitive),
        "withheld": list(map(one_line, held_back(outcome.withheld))),
        "notes": (*outcome.notes, *filter(None, [thread.hidden if thread else ""])),
        "denied": list(map(one_line, denied(outcome.denials))),
        "footer": footer(outcome, links),
    }
