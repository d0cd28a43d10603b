"""The pictures of one request: looked for in each of its texts, fetched and drawn anew while other things wait."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bot.contracts.cancel import CancelToken
from bot.contracts.comments import Comment
from bot.contracts.messages import Image, Message
from bot.contracts.model import Provider
from bot.contracts.pulls import ReviewThread
from bot.contracts.request import Request, Thread, Tier
from bot.providers.connect import adapted
from bot.run.background import Background
from bot.sandbox.confinement import Confinement

if TYPE_CHECKING:
    from bot.attachments.look import Looker, Place
    from bot.github.as_shown import ShownText
    from bot.github.client import GitHub
    from bot.github.values import Account
    from bot.policy.schema import Policy
    from bot.run.github_env import GitHubEnvironment
    from bot.run.terms import Job

_MAY_SHOW = re.compile(r"!\[|<img\b", re.IGNORECASE)
_OF_REVIEW = re.compile(r"#pullrequestreview-([0-9]{1,18})$")


class Pictures(NamedTuple):
    """`request` as the model is shown it, with a word behind each picture; `told` a line for each of `images`; `left`
    a sentence for each that is not shown."""

    request: Request
    images: tuple[Image, ...] = ()
    told: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    def besides(self, before: Iterable[Message]) -> Pictures:
        """Without those that a message `before` shows already: a picture costs tokens each time."""
        seen = {part.data for message in before for part in message.parts if isinstance(part, Image)}
        told = (
            f"{line}, shown above already" if image.data in seen else line
            for line, image in zip(self.told, self.images, strict=True)
        )
        new = tuple(image for image in self.images if image.data not in seen)
        return self._replace(images=new, told=tuple(told))


class Seeing(NamedTuple):
    """What a run adds: the base's policy, the wall, a folder of its own, whether the model can see."""

    policy: Policy
    confinement: Confinement
    folder: Path
    vision: bool
    cancel: CancelToken


Look = Callable[[Request, Seeing], Pictures]


def shows_pictures(request: Request) -> bool:
    """Whether there may be any. Costs next to nothing."""
    return any(_MAY_SHOW.search(text) for text in _texts(request))


def from_github(where: GitHubEnvironment) -> Look:
    """Looks with a client of its own, since it does so on a thread of its own."""

    def look(request: Request, seeing: Seeing) -> Pictures:
        from bot.attachments.address import site_of
        from bot.attachments.fetch import Fetcher
        from bot.attachments.look import Looker, Terms
        from bot.attachments.redraw import Redrawer
        from bot.github.client import connect

        site, policy = site_of(where.server_url), seeing.policy
        github = connect(where.token, where.api_url)
        terms = Terms(
            policy.attachments.tiers,
            request.actor.tier,
            blind=not seeing.vision,
            ended=lambda: seeing.cancel.fired,
        )
        reader = _Reader(github, request, policy.bots)
        looker = Looker(site, reader, Fetcher(site), Redrawer(seeing.confinement, seeing.folder), terms)
        return looked_at(request, looker)

    return look


def begin_to_look(
    job: Job, request: Request, policy: Policy, confinement: Confinement, provider: Background[Provider],
    cancel: CancelToken,
) -> Background[Pictures] | None:  # fmt: skip
    """While other things wait; `None` where there is nothing to look for."""
    look = job.pictures
    if look is None or not shows_pictures(request):
        return None

    def work() -> Pictures:
        vision = adapted(provider.result(), policy.models).info.vision
        return look(
            request, Seeing(policy, confinement, job.folder.root / "workshop-pictures", vision, cancel)
        )

    return Background(work, "pictures")


def looked_at(request: Request, looker: Looker) -> Pictures:
    """Every text of `request` that the model is shown: what was asked first, since there is room for few."""
    marked = _marked(request, looker)
    return Pictures(marked, tuple(looker.images), tuple(looker.told), tuple(looker.left))


def _texts(request: Request) -> Iterator[str]:
    yield request.instruction
    if request.thread is not None:
        yield request.thread.body
        yield from (comment.body for comment in request.thread.comments)
    for thread in (*([request.anchor] if request.anchor else []), *request.unresolved):
        yield from (comment.body for comment in thread.comments)


def _marked(request: Request, looker: Looker) -> Request:
    from bot.attachments.look import Place
    from bot.github.as_shown import TextKind

    def of(kind: TextKind, comment: Comment) -> Comment:
        place = Place(kind, comment.id, f"the {kind} {comment.id}")
        return replace(comment, body=looker.marked(place, comment.body))

    def on_lines(thread: ReviewThread) -> ReviewThread:
        return replace(
            thread, comments=tuple(of(TextKind.REVIEW_COMMENT, comment) for comment in thread.comments)
        )

    def talk(thread: Thread) -> Thread:
        kind = "pull request" if thread.is_pull_request else "issue"
        body = looker.marked(Place(TextKind.THREAD, 0, f"the {kind}"), thread.body)
        comments = tuple(
            of(TextKind.REVIEW if comment.of_review else TextKind.COMMENT, comment)
            for comment in thread.comments
        )
        return replace(thread, body=body, comments=comments)

    instruction = looker.marked(_place_of_instruction(request), request.instruction)
    # Where it was asked comes before the rest of the thread.
    anchor = on_lines(request.anchor) if request.anchor else None
    thread = talk(request.thread) if request.thread else None
    unresolved = tuple(on_lines(one) for one in request.unresolved)
    return replace(request, instruction=instruction, anchor=anchor, thread=thread, unresolved=unresolved)


def _place_of_instruction(request: Request) -> Place:
    from bot.attachments.look import Place
    from bot.github.as_shown import TextKind

    trigger, words = request.trigger, "what was asked"
    if trigger is None or request.thread is None:
        return Place(None, 0, words)
    kinds = {
        "issue_comment": TextKind.COMMENT,
        "pull_request_review_comment": TextKind.REVIEW_COMMENT,
    }
    if trigger.comment_id and trigger.event in kinds:
        return Place(kinds[trigger.event], trigger.comment_id, words)
    if trigger.event == "pull_request_review" and (found := _OF_REVIEW.search(trigger.url)):
        return Place(TextKind.REVIEW, int(found[1]), words)
    return Place(TextKind.THREAD if trigger.event == "issues" else None, 0, words)


class _Reader:
    """GitHub's word on texts and authors; each author is asked about once."""

    def __init__(self, github: GitHub, request: Request, bots: Collection[int]) -> None:
        self._github = github
        self._repository = request.repository
        self._number = request.thread.number if request.thread else 0
        self._bots = bots
        self._tiers: dict[int, Tier | None] = {}

    def text(self, place: Place) -> ShownText | None:
        assert place.kind is not None
        return self._github.as_shown(self._repository, place.kind, self._number, place.identity)

    def tier(self, author: Account) -> Tier | None:
        if author.id not in self._tiers:
            self._tiers[author.id] = self._asked(author) if author.id else None
        return self._tiers[author.id]

    def _asked(self, author: Account) -> Tier | None:
        from bot.intake import payload
        from bot.intake.who import Stranger, standing

        who = standing(
            payload.Account(author.login, author.id, author.kind), self._repository, self._github, self._bots
        )
        return None if isinstance(who, Stranger) else who.tier
