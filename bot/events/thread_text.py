"""Build the conversation for the model: the comments at the trigger, cleaned, the oldest omitted first."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from bot.contracts.formatting import count_of
from bot.contracts.pulls import Comment
from bot.contracts.request import HIDDEN_TEXT_MARK, Thread, Trigger
from bot.contracts.threads import CommentData, TextKind
from bot.events.event_request import ISSUE_COMMENT, REVIEW, REVIEW_COMMENT, Subject, is_own
from bot.events.hygiene import CleanText, clean
from bot.events.thread_html import ThreadHtml

# In characters; about a quarter as many tokens.
COMMENTS_BUDGET = 40_000
MAX_COMMENT = 10_000
MAX_BODY = 30_000
MAX_TITLE = 1_000


_AFTER = ("comment", "written after the command")
_EDITED = ("comment", "edited after the command")
_OWN = ("comment", "of this bot's own")


def build_thread(
    subject: Subject, trigger: Trigger, newest_first: Iterable[CommentData], html: ThreadHtml
) -> Thread:
    """Return the issue or pull request with its comments, oldest first, without the one with the command.

    Title and body are the payload's, and each text is what GitHub shows of it. Comments written or edited after the
    trigger are left out, and so are the bot's own; the rest is taken from its newest end until `COMMENTS_BUDGET` is
    spent, and not read further. Raises `EditedTextError`.
    """
    omitted: Counter[tuple[str, str]] = Counter()
    newest: deque[CommentData] = deque()
    size = present = 0
    older: tuple[str, ...] = ()
    for comment in newest_first:
        time = comment_time(trigger, ISSUE_COMMENT, comment.id, comment.created_at, comment.updated_at)
        present += time is not CommentTime.AFTER
        if reason := _left_out(comment, time):
            omitted[reason] += 1
        elif time is CommentTime.BEFORE:
            size += min(len(comment.body), MAX_COMMENT)
            if size > COMMENTS_BUDGET:
                # The payload may have the number of comments. The one at which reading ended is left out, too.
                why = f"older than the newest {COMMENTS_BUDGET} characters of the thread"
                number = subject.comments - present + 1 if subject.comments else 0
                older = count_notes((number, "comment", why)) if number > 0 else (f"all comments {why}",)
                break
            newest.appendleft(comment)
    cleaner = TextCleaner()
    thread = bare_thread(subject, cleaner, html)
    comments = tuple(_context_comment(comment, cleaner, html) for comment in newest)
    notes = count_notes(*((omitted[one], *one) for one in (_AFTER, _EDITED, _OWN)))
    return replace(thread, comments=comments, left_out=(*notes, *older, *cleaner.notes()))


def _left_out(comment: CommentData, time: CommentTime) -> tuple[str, str] | None:
    """Return why a comment is no part of the context; `None` for one that is, and for the command."""
    if time is CommentTime.AFTER:
        return _AFTER
    if is_own(comment.body) and time is not CommentTime.TRIGGER:
        return _OWN
    return _EDITED if time is CommentTime.EDITED else None


def bare_thread(
    subject: Subject, cleaner: TextCleaner | None = None, html: ThreadHtml | None = None
) -> Thread:
    """Return the thread without its comments; without `html`, for a request that uses no model, also without its body.
    Raises `EditedTextError`."""
    cleaner = cleaner or TextCleaner()
    by_bot = subject.author is not None and subject.author.kind == "Bot"
    body = html.shown(TextKind.THREAD, 0, subject.body, by_bot=by_bot) if html else CleanText("")
    return Thread(
        number=subject.number,
        title=cleaner.line(subject.title, MAX_TITLE, "the title"),
        body=cleaner.shortened(body, MAX_BODY, "the description"),
        author=subject.author.login if subject.author else "ghost",
        url=subject.url,
        is_pull_request=subject.is_pull_request,
    )


def _context_comment(comment: CommentData, cleaner: TextCleaner, html: ThreadHtml) -> Comment:
    shown = html.shown(TextKind.COMMENT, comment.id, comment.body)
    body = cleaner.shortened(shown, MAX_COMMENT, f"a comment by {comment.author.login}")
    return Comment(comment.id, comment.author.login, body, comment.created_at, comment.updated_at)


_MAX_LOCATIONS = 4


@dataclass(slots=True)
class TextCleaner:
    """Prepares other people's text for the model: removes hidden text, shortens long text, counts both."""

    long: int = 0
    plain: int = 0
    hidden: dict[str, int] = field(default_factory=dict)
    locations: dict[str, dict[str, None]] = field(default_factory=dict)

    def text(self, text: str, limit: int, location: str = "") -> str:
        """Return a text of which GitHub has no HTML, as `shortened` does."""
        return self.shortened(clean(text), limit, location)

    def shortened(self, cleaned: CleanText, limit: int, location: str = "") -> str:
        """Return the text, at most `limit` characters. `location` names it in the note on hidden text."""
        self.plain += cleaned.plain
        for removal in cleaned.hidden:
            self.hidden[removal.kind] = self.hidden.get(removal.kind, 0) + removal.count
            if location:
                lines = f" line {', '.join(map(str, removal.lines))}" if removal.lines else ""
                self.locations.setdefault(removal.kind, {})[f"{location}{lines}"] = None
        if len(cleaned.text) <= limit:
            return cleaned.text
        self.long += 1
        head, tail = limit * 3 // 5, limit * 2 // 5
        missing = len(cleaned.text) - head - tail
        return f"{cleaned.text[:head]}\n[{missing} characters left out]\n{cleaned.text[-tail:]}"

    def line(self, text: str, limit: int, location: str = "") -> str:
        return " ".join(self.text(text, limit, location).split())

    def notes(self) -> tuple[str, ...]:
        return count_notes(
            (self.long, "text", "shortened in the middle for length"),
            (
                self.plain,
                "text",
                "read as plain text, not as GitHub shows it, so something hidden may be in it",
            ),
            *((count, kind, self._reason(kind)) for kind, count in self.hidden.items()),
        )

    def _reason(self, kind: str) -> str:
        locations = list(self.locations.get(kind, ()))
        if not locations:
            return HIDDEN_TEXT_MARK
        more = f" and {len(locations) - _MAX_LOCATIONS} more texts" if len(locations) > _MAX_LOCATIONS else ""
        return f"{HIDDEN_TEXT_MARK} ({'; '.join(locations[:_MAX_LOCATIONS])}{more})"


def count_notes(*rows: tuple[int, str, str]) -> tuple[str, ...]:
    """Format rows such as `(2, "comment", "edited after the command")`; a row with 0 is dropped."""
    return tuple(f"{count_of(number, noun)} {why}" for number, noun, why in rows if number)


class CommentTime(Enum):
    BEFORE = auto()
    TRIGGER = auto()
    AFTER = auto()
    EDITED = auto()


def comment_time(
    trigger: Trigger, kind: str, comment_id: int, created_at: str, updated_at: str
) -> CommentTime:
    """Return when a comment was written, compared with the trigger. `kind` is the name of GitHub's event for it.

    Times are to the second. Within the trigger's second, ids give the order of comments of one kind; a comment of
    another kind counts as later, and so does an edit. If the trigger is no comment, its time is the thread's last
    change before it, which may be a comment of that second. Submitting a review changes all its comments once more, so
    a change in that second is no edit if the review or one of its comments is the trigger.
    """
    submitted = kind == REVIEW_COMMENT and trigger.event in (REVIEW, REVIEW_COMMENT)
    same = trigger.comment_id > 0 and trigger.event == kind
    if same and comment_id == trigger.comment_id:
        return CommentTime.TRIGGER
    if created_at > trigger.at:
        return CommentTime.AFTER
    if created_at == trigger.at and trigger.comment_id and not (same and comment_id < trigger.comment_id):
        return CommentTime.AFTER
    if updated_at != created_at and (updated_at > trigger.at or (updated_at == trigger.at and not submitted)):
        return CommentTime.EDITED
    return CommentTime.BEFORE
