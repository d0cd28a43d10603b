"""Build the conversation for the model: the comments at the trigger, as GitHub shows them, the oldest omitted first."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from bot.contracts.formatting import count_of, first_of
from bot.contracts.pulls import Comment
from bot.contracts.request import HIDDEN_TEXT_MARK, Thread, Trigger
from bot.events.event_request import ISSUE_COMMENT, REVIEW, REVIEW_COMMENT, RefusedError, is_own
from bot.events.page_text import shown_text
from bot.events.sanitize import CleanText, clean
from bot.github.client import GitHub
from bot.github.values import CommentData, IssueData, TextKind, without_own_mark

# In characters; about a quarter as many tokens.
COMMENTS_BUDGET = 40_000
MAX_COMMENT = 10_000
MAX_BODY = 30_000
MAX_TITLE = 1_000
_Time = Literal["before", "trigger", "written", "edited"]
"""Of a comment: before the trigger, the trigger itself, or written or edited after it."""
_LATER_THAN_ALL = Trigger("", 0, "", "9999-12-31T23:59:59Z")
_TEXT_NAMES = {
    TextKind.THREAD: "The description",
    TextKind.COMMENT: "A comment",
    TextKind.REVIEW: "A review",
    TextKind.REVIEW_COMMENT: "A review comment",
}


def build_thread(subject: IssueData, newest_first: Iterable[CommentData], texts: ThreadTexts) -> Thread:
    """Return the issue or pull request with its comments, oldest first, without the one with the command.

    Title and body are the payload's, and each text is what GitHub shows of it. Comments written or edited after the
    trigger are left out, and so are the bot's own; the rest is taken from its newest end until `COMMENTS_BUDGET` is
    spent, and not read further. Raises `EditedTextError`.
    """
    newest = deque[CommentData]()
    size = present = 0
    for comment in newest_first:
        written = ISSUE_COMMENT, comment.id, comment.created_at, comment.updated_at
        time = texts.time(*written)
        present += time != "written"
        if is_own(comment.body) and time in ("before", "edited"):
            texts.leave_out("comment", "of this bot's own")
        elif not texts.precedes("comment", *written):
            continue
        elif (size := size + min(len(comment.body), MAX_COMMENT)) > COMMENTS_BUDGET:
            # The payload may have the number of comments. The one at which reading ended is left out, too.
            why = f"older than the newest {COMMENTS_BUDGET} characters of the thread"
            if (number := subject.comments - present + 1) > 0 and subject.comments:
                texts.leave_out("comment", why, number)
            else:
                texts.missing.append(f"all comments {why}")
            break
        else:
            newest.appendleft(comment)
    thread = bare_thread(subject, texts)
    comments = tuple(texts.comment(one, MAX_COMMENT, f"a comment by {one.author.login}") for one in newest)
    return thread._replace(comments=comments, left_out=texts.notes())


def bare_thread(subject: IssueData, texts: ThreadTexts | None = None) -> Thread:
    """Return the thread without its comments; without `texts`, for a request that uses no model, also without its body.
    Raises `EditedTextError`."""
    title, by_bot = (
        (texts or TextCleaner()).line(subject.title, MAX_TITLE, "the title"),
        subject.author.kind == "Bot",
    )
    body = texts and texts.shown(TextKind.THREAD, 0, subject.body, MAX_BODY, "the description", by_bot=by_bot)
    return Thread(
        number=subject.number,
        title=title,
        body=body or "",
        author=subject.author.login,
        url=subject.url,
        is_pull_request=subject.is_pull_request,
    )


class EditedTextError(RefusedError):
    """A text is not the one that the author of the command saw."""


@dataclass
class TextCleaner:
    """Prepares other people's text for the model: removes hidden text and shortens long text. Counts what is left out,
    by what it is and why; `missing` are further notes on that."""

    missing: list[str] = field(default_factory=list, kw_only=True)
    omitted: Counter[tuple[str, str]] = field(default_factory=Counter, kw_only=True)
    locations: dict[str, dict[str, None]] = field(default_factory=dict, kw_only=True)

    def leave_out(self, noun: str, why: str, number: int = 1) -> None:
        self.omitted[noun, why] += number

    def text(self, text: str, limit: int, location: str = "") -> str:
        """Return a text of which GitHub has no HTML, as `shortened` does."""
        return self.shortened(clean(text), limit, location)

    def shortened(self, cleaned: CleanText, limit: int, location: str = "") -> str:
        """Return the text, at most `limit` characters. `location` names it in the note on hidden text."""
        for kind, count in cleaned.hidden.items():
            self.leave_out(kind, HIDDEN_TEXT_MARK, count)
            if location:
                self.locations.setdefault(kind, {})[location] = None
        if len(cleaned.text) <= limit:
            return cleaned.text
        self.leave_out("text", "shortened in the middle for length")
        head, tail = limit * 3 // 5, limit * 2 // 5
        missing = len(cleaned.text) - head - tail
        return f"{cleaned.text[:head]}\n[{missing} characters left out]\n{cleaned.text[-tail:]}"

    def line(self, text: str, limit: int, location: str = "") -> str:
        return " ".join(self.text(text, limit, location).split())

    def notes(self) -> tuple[str, ...]:
        """Return a note such as `2 comments edited after the command` for each kind that was left out."""
        counted = (
            f"{count_of(number, noun)} {why}{self._places(noun) if why == HIDDEN_TEXT_MARK else ''}"
            for (noun, why), number in self.omitted.items()
            if number
        )
        return (*self.missing, *counted)

    def _places(self, kind: str) -> str:
        locations = list(self.locations.get(kind, ()))
        return f" ({first_of(locations, 4)})" if locations else ""


@dataclass
class ThreadTexts(TextCleaner):
    """Prepares the texts of thread `number` that were there at the `trigger`, as GitHub's page shows them; by default
    all."""

    reader: GitHub
    number: int = 0
    trigger: Trigger = _LATER_THAN_ALL

    def page(self, kind: TextKind, identity: int, body: str, *, by_bot: bool = False) -> CleanText:
        """Return what people see of the text whose source is `body`. `by_bot` says that an app wrote it: the mark that
        ends this bot's comments is then not counted as hidden.

        Raises `EditedTextError` if GitHub has another text now.
        """
        if not body.strip():
            return CleanText("")
        text = self.reader.rendered_text(kind, self.number, identity)
        if text is None or text.body != body:
            what = "deleted" if text is None else "edited"
            raise EditedTextError(
                f"{_TEXT_NAMES[kind]} in #{self.number} was {what} after this command, so what people saw then is "
                "not known. Check it and repeat the command."
            )
        return shown_text(without_own_mark(body) if by_bot else body, text.html)

    def shown(
        self,
        kind: TextKind,
        identity: int,
        body: str,
        limit: int,
        location: str = "",
        *,
        by_bot: bool = False,
    ) -> str:
        """Return what people see of a text, as `shortened` does."""
        return self.shortened(self.page(kind, identity, body, by_bot=by_bot), limit, location)

    def comment(self, comment: CommentData, limit: int, location: str = "") -> Comment:
        """Return a comment for the model, as GitHub shows it."""
        body = self.shown(TextKind.COMMENT, comment.id, comment.body, limit, location)
        return Comment(comment.id, comment.author.login, body, comment.created_at, comment.updated_at)

    def precedes(self, noun: str, kind: str, comment_id: int, created_at: str, updated_at: str) -> bool:
        """Whether a comment was there at the trigger, as it is now. One that was not is counted, unless it is the
        trigger."""
        time = self.time(kind, comment_id, created_at, updated_at)
        if time in ("written", "edited"):
            self.leave_out(noun, f"{time} after the command")
        return time == "before"

    def time(self, kind: str, comment_id: int, created_at: str, updated_at: str) -> _Time:
        """Return when a comment was written or edited, compared with the trigger. `kind` is the name of GitHub's event
        for it.

        Times are to the second. Within the trigger's second, ids give the order of comments of one kind; a comment of
        another kind counts as later, and so does an edit. If the trigger is no comment, its time is the thread's last
        change before it, which may be a comment of that second. Submitting a review changes all its comments once more,
        so a change in that second is no edit if the review or one of its comments is the trigger.
        """
        trigger = self.trigger
        submitted = kind == REVIEW_COMMENT and trigger.event in (REVIEW, REVIEW_COMMENT)
        same = trigger.comment_id > 0 and trigger.event == kind
        if same and comment_id == trigger.comment_id:
            return "trigger"
        if created_at > trigger.at:
            return "written"
        if created_at == trigger.at and trigger.comment_id and not (same and comment_id < trigger.comment_id):
            return "written"
        if updated_at != created_at and (
            updated_at > trigger.at or (updated_at == trigger.at and not submitted)
        ):
            return "edited"
        return "before"
