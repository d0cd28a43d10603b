"""The pictures and attached files of a request, fetched on a thread while other things wait."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bot.contracts.cancel import CancelToken
from bot.contracts.journal import AttachedFile
from bot.contracts.messages import Image, Message
from bot.contracts.model import Provider
from bot.contracts.pulls import Comment, ReviewThread
from bot.contracts.request import Request, Thread, Tier
from bot.contracts.threads import TextKind
from bot.github.values import Account, RenderedText
from bot.providers.connect import apply_overrides
from bot.session.progress.waits import Background
from bot.workspace.sandbox.confinement import Confinement

if TYPE_CHECKING:
    from bot.attachments.selector import AttachmentSelector, TextSource
    from bot.github.client import GitHub
    from bot.policy.values import Policy
    from bot.session.context.github_env import GitHubEnvironment
    from bot.session.job.run_context import RunContext

_ATTACHMENT = re.compile(r"!\[|<img\b|/files/[0-9]", re.IGNORECASE)
_REVIEW_ANCHOR = re.compile(r"#pullrequestreview-([0-9]{1,18})$")


class Attachments(NamedTuple):
    """The `request` with a word behind each picture, a note for each of `images`, a sentence for each that is
    `omitted`, the other attached `files`, and a note for each of those."""

    request: Request
    images: tuple[Image, ...] = ()
    image_notes: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()
    files: tuple[AttachedFile, ...] = ()
    file_notes: tuple[str, ...] = ()

    def without_shown(self, before: Iterable[Message]) -> Attachments:
        """Without the images that a message `before` shows already: an image costs tokens each time."""
        seen = {part.data for message in before for part in message.parts if isinstance(part, Image)}
        notes = (
            f"{line}, shown above already" if image.data in seen else line
            for line, image in zip(self.image_notes, self.images, strict=True)
        )
        new = tuple(image for image in self.images if image.data not in seen)
        return self._replace(images=new, image_notes=tuple(notes))


class AttachmentOptions(NamedTuple):
    """Options of a run: `folder` is for the workspaces that decode images, `files` for attached files; `vision`: the
    model takes images."""

    policy: Policy
    confinement: Confinement
    folder: Path
    files: Path
    vision: bool
    cancel: CancelToken


LoadAttachments = Callable[[Request, AttachmentOptions], Attachments]


def has_attachments(request: Request) -> bool:
    """Whether the request may have attachments, by its text alone."""
    return any(_ATTACHMENT.search(text) for text in _texts(request))


def github_attachments(where: GitHubEnvironment) -> LoadAttachments:
    """A loader with its own client, for use on another thread."""

    def load_with_client(request: Request, options: AttachmentOptions) -> Attachments:
        from bot.attachments.fetch import FILE_LIMITS, Fetcher, site_of
        from bot.attachments.files import AttachedFiles, Unpacker
        from bot.attachments.redraw import Redrawer
        from bot.attachments.selector import AttachmentSelector, SelectionRules
        from bot.github.client import connect

        site, policy = site_of(where.server_url), options.policy
        github = connect(where.token, where.api_url)
        rules = SelectionRules(
            policy.attachments.tiers,
            request.actor.tier,
            blind=not options.vision,
            ended=lambda: options.cancel.fired,
        )
        reader = _Reader(github, request, policy.verbs_of_bots)
        unpacker = Unpacker(options.confinement, options.folder)
        files = AttachedFiles(options.files, Fetcher(site, FILE_LIMITS), unpacker)
        redrawer = Redrawer(options.confinement, options.folder)
        return collect_attachments(
            request, AttachmentSelector(site, reader, Fetcher(site), redrawer, files=files, rules=rules)
        )

    return load_with_client


def start_loading(context: RunContext, provider: Background[Provider]) -> Background[Attachments] | None:
    """Start loading on a thread; `None` without attachments."""
    inputs, spec, request = context.inputs, context.inputs.spec, context.request
    load = spec.load_attachments
    if load is None or not has_attachments(request):
        return None

    def load_on_thread() -> Attachments:
        vision = apply_overrides(provider.result(), inputs.policy.models).info.vision
        own, files = spec.folder.root / "workspace-pictures", spec.folder.archive / "attachments"
        options = AttachmentOptions(inputs.policy, inputs.confinement, own, files, vision, inputs.stop)
        return load(request, options)

    return Background(load_on_thread, "pictures")


def collect_attachments(request: Request, selector: AttachmentSelector) -> Attachments:
    """Attachments of every text of `request`, the instruction first, since their number is limited."""
    from bot.attachments.files import file_line

    marked, files = _mark_request(request, selector), tuple(selector.files.files)
    lines = (*map(file_line, files), *selector.file_omissions)
    left = (*selector.omissions, *selector.file_omissions)
    return Attachments(marked, tuple(selector.images), tuple(selector.picture_lines), left, files, lines)


def _texts(request: Request) -> Iterator[str]:
    yield request.instruction
    if request.thread is not None:
        yield request.thread.body
        yield from (comment.body for comment in request.thread.comments)
    for thread in (*([request.anchor] if request.anchor else []), *request.unresolved):
        yield from (comment.body for comment in thread.comments)


def _mark_request(request: Request, selector: AttachmentSelector) -> Request:
    from bot.attachments.selector import TextSource

    def mark_comment(kind: TextKind, comment: Comment) -> Comment:
        source = TextSource(kind, comment.id, f"the {kind} {comment.id}")
        return replace(comment, body=selector.marked(source, comment.body))

    def mark_review_thread(thread: ReviewThread) -> ReviewThread:
        return replace(
            thread,
            comments=tuple(mark_comment(TextKind.REVIEW_COMMENT, comment) for comment in thread.comments),
        )

    def mark_thread(thread: Thread) -> Thread:
        kind = "pull request" if thread.is_pull_request else "issue"
        body = selector.marked(TextSource(TextKind.THREAD, 0, f"the {kind}"), thread.body)
        comments = tuple(
            mark_comment(TextKind.REVIEW if comment.of_review else TextKind.COMMENT, comment)
            for comment in thread.comments
        )
        return replace(thread, body=body, comments=comments)

    instruction = selector.marked(_instruction_source(request), request.instruction)
    # Where it was asked comes before the rest of the thread.
    anchor = mark_review_thread(request.anchor) if request.anchor else None
    thread = mark_thread(request.thread) if request.thread else None
    unresolved = tuple(mark_review_thread(review_thread) for review_thread in request.unresolved)
    return replace(request, instruction=instruction, anchor=anchor, thread=thread, unresolved=unresolved)


def _instruction_source(request: Request) -> TextSource:
    from bot.attachments.selector import TextSource

    trigger, words = request.trigger, "what was asked"
    if trigger is None or request.thread is None:
        return TextSource(None, 0, words)
    kinds = {
        "issue_comment": TextKind.COMMENT,
        "pull_request_review_comment": TextKind.REVIEW_COMMENT,
    }
    if trigger.comment_id and trigger.event in kinds:
        return TextSource(kinds[trigger.event], trigger.comment_id, words)
    if trigger.event == "pull_request_review" and (review := _REVIEW_ANCHOR.search(trigger.url)):
        return TextSource(TextKind.REVIEW, int(review[1]), words)
    return TextSource(TextKind.THREAD if trigger.event == "issues" else None, 0, words)


class _Reader:
    """Rendered texts and the tiers of authors from GitHub; each author is looked up once."""

    def __init__(self, github: GitHub, request: Request, bots: Collection[int]) -> None:
        self._github = github
        self._repository = request.repository
        self._number = request.thread.number if request.thread else 0
        self._bots = bots
        self._tiers: dict[int, Tier | None] = {}

    def text(self, source: TextSource) -> RenderedText | None:
        assert source.kind is not None
        return self._github.rendered_text(self._repository, source.kind, self._number, source.identity)

    def tier(self, author: Account) -> Tier | None:
        if author.id not in self._tiers:
            self._tiers[author.id] = self._ask_tier(author) if author.id else None
        return self._tiers[author.id]

    def _ask_tier(self, author: Account) -> Tier | None:
        from bot.events import payload
        from bot.events.admission import RejectedActor, resolve_actor

        account_standing = resolve_actor(
            payload.Account(author.login, author.id, author.kind), self._repository, self._github, self._bots
        )
        return None if isinstance(account_standing, RejectedActor) else account_standing.tier
