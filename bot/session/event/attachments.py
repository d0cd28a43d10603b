"""The attachments of a request, from GitHub."""

from bot.attachments.fetch import FILE_LIMITS, AttachedFiles, Fetcher, file_line, site_of
from bot.attachments.redraw import Redrawer
from bot.attachments.selector import AttachmentSelector, TextReader, TextSource
from bot.contracts.pulls import Comment, ReviewThread
from bot.contracts.request import Request, Thread
from bot.events.event_request import CommandSource
from bot.github.client import connect
from bot.github.values import TextKind
from bot.session.context.github_env import GitHubEnvironment
from bot.session.context.run import Attachments, Run


def load_attachments(
    where: GitHubEnvironment, source: CommandSource | None, run: Run, vision: bool
) -> Attachments:
    """Load the attachments of a run with a client of its own, for use on another thread. `source` is the text that
    holds the instruction."""
    site = site_of(where.server_url)
    github = connect(where.token, where.api_url, run.request.repository)
    reader = TextReader(github, run.request, run.policy.verbs_of_bots)
    files = AttachedFiles(run.folder.archive / "attachments", Fetcher(site, FILE_LIMITS))
    redrawer = Redrawer(run.confinement, run.folder.root / "workspace-pictures")
    selector = AttachmentSelector(
        site,
        reader,
        Fetcher(site),
        redrawer,
        files,
        tiers=run.policy.attachments.tiers,
        requester=run.tier,
        blind=not vision,
        ended=lambda: run.cancel_run.fired,
    )
    return collect_attachments(run.for_model, selector, source)


def collect_attachments(
    request: Request, selector: AttachmentSelector, source: CommandSource | None
) -> Attachments:
    """Attachments of every text of `request`, the instruction first, since their number is limited."""
    marked, files = _mark_request(request, selector, source), tuple(selector.files.files)
    lines = (*map(file_line, files), *selector.file_omissions)
    left = (*selector.omissions, *selector.file_omissions)
    return Attachments(marked, tuple(selector.images), tuple(selector.picture_lines), left, files, lines)


def _mark_request(request: Request, selector: AttachmentSelector, source: CommandSource | None) -> Request:
    def mark_comment(kind: TextKind, comment: Comment) -> Comment:
        source = TextSource(kind, comment.id, f"the {kind} {comment.id}")
        return comment._replace(body=selector.marked(source, comment.body))

    def mark_review_thread(thread: ReviewThread) -> ReviewThread:
        return thread._replace(
            comments=tuple(mark_comment(TextKind.REVIEW_COMMENT, comment) for comment in thread.comments)
        )

    def mark_thread(thread: Thread) -> Thread:
        kind = "pull request" if thread.is_pull_request else "issue"
        body = selector.marked(TextSource(TextKind.THREAD, 0, f"the {kind}"), thread.body)
        comments = tuple(
            mark_comment(TextKind.REVIEW if comment.of_review else TextKind.COMMENT, comment)
            for comment in thread.comments
        )
        return thread._replace(body=body, comments=comments)

    kind, identity = (source.kind, source.identity) if source else (None, 0)
    asked_in = TextSource(kind, identity, "what was asked")
    instruction = request.instruction and selector.marked(asked_in, request.instruction)
    # Where it was asked comes before the rest of the thread.
    anchor = mark_review_thread(request.anchor) if request.anchor else None
    thread = mark_thread(request.thread) if request.thread else None
    unresolved = tuple(mark_review_thread(review_thread) for review_thread in request.unresolved)
    return request._replace(instruction=instruction, anchor=anchor, thread=thread, unresolved=unresolved)
