"""The border to GitHub's REST API: one place that sends, repeats, pages, counts and refuses.

Every question and deed names what it does for the error sentence. PyGithub signs and sends; its lazy objects are
not used, since they ask again when a field is missing, and every call counts here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode, urlsplit

from bot.contracts.silence import Silence
from bot.github.errors import Failure, GitHubError, failure_from, sentence
from bot.github.retry import Pace, wait_before_retry
from bot.github.tags import Tags

if TYPE_CHECKING:
    import github

T = TypeVar("T")

PAGE = 100
JSON = "application/vnd.github+json"
FULL = "application/vnd.github.full+json"
"""With the text as it was written and as HTML."""

_LAST = re.compile(r'[?&]page=(\d{1,6})[^>]*>[^,]*;\s*rel="last"')
_NEXT = re.compile(r'<([^<>]*)>[^,]*;\s*rel="next"')


Leaving = Callable[[str, object], object]
"""From a path of the API and the JSON that is to be written there to what is written."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What GitHub said: `data` is its JSON, `None` where there was no body. Header names are lower case."""

    status: int
    headers: Mapping[str, str]
    data: Any


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One request that was sent, repeats included. `status` is 0 where no answer came."""

    verb: str
    path: str
    status: int


class Border:
    """Base of the client's parts. Not for two threads at once: each has its own client."""

    def __init__(self, hub: github.Github, pace: Pace) -> None:
        self._hub = hub
        self._pace = pace
        self.leaving: Leaving | None = None
        """Makes the JSON of each write fit to leave, or raises: the gate's, where `bot.gate.github` made the client."""
        self._tags = Tags()
        self.calls: list[ApiCall] = []

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self._hub.requester.base_url}>"

    def _one(self, doing: str, path: str, parse: Callable[[Any], T], media: str = JSON) -> T:
        """GET one thing."""
        return understood(doing, parse, self._ask(doing, "GET", path, media=media).data)

    def _one_or_none(self, doing: str, path: str, parse: Callable[[Any], T], media: str = JSON) -> T | None:
        """GET one thing; `None` where there is none (404), or none any more (410)."""
        try:
            return self._one(doing, path, parse, media)
        except GitHubError as error:
            if error.status in (404, 410):
                return None
            raise

    def _all(self, doing: str, path: str, parse: Callable[[Any], T], key: str = "") -> Iterator[T]:
        """GET all pages of a list, fetched as they are taken. `key` is the field that holds the rows."""
        page: str | None = with_query(path, per_page=str(PAGE))
        while page is not None:
            answer = self._ask(doing, "GET", page)
            yield from understood(doing, lambda data: [parse(row) for row in _rows(data, key)], answer.data)
            following = self._next_page(doing, answer)
            page = following if following != page else None

    def _all_backwards(self, doing: str, path: str, parse: Callable[[Any], T]) -> Iterator[T]:
        """GET a list from its end on, a page when it is wanted. The first page, which says how many there are, is
        asked for first all the same. What is added in the meantime may be missed."""
        path = with_query(path, per_page=str(PAGE))

        def rows(answer: Answer) -> list[T]:
            return understood(doing, lambda data: [parse(row) for row in _rows(data, "")], answer.data)[::-1]

        first = self._ask(doing, "GET", path)
        last = _LAST.search(first.headers.get("link", ""))
        for page in range(int(last.group(1)) if last else 1, 1, -1):
            yield from rows(self._ask(doing, "GET", with_query(path, page=str(page))))
        yield from rows(first)

    def _send(
        self, doing: str, verb: str, path: str, body: object, parse: Callable[[Any], T], *, safe: bool
    ) -> T:
        """Write. `safe`: doing it twice is the same as doing it once, so it may be repeated when no answer came."""
        fields = self.leaving(path, body) if self.leaving is not None else body
        self._pace.before_write()
        return understood(doing, parse, self._ask(doing, verb, path, fields, safe=safe).data)

    def _ask(
        self,
        doing: str,
        verb: str,
        path: str,
        body: object = None,
        *,
        safe: bool = True,
        judge: Callable[[Answer], Failure | None] = lambda _: None,
        media: str = JSON,
    ) -> Answer:
        """Until GitHub does what was asked, or it is no use. `judge` finds refusals in answers that say 200; `media` is
        the Accept header."""
        for attempt in count(1):
            answer = self._once(verb, path, body, media)
            failure = answer if isinstance(answer, Failure) else judge(answer)
            if failure is None:
                assert isinstance(answer, Answer)
                return answer
            wait = wait_before_retry(failure, attempt, self._pace.now(), safe=safe)
            if wait is None:
                raise GitHubError(sentence(failure, doing), failure)
            self._pace.wait(wait)
        raise AssertionError("unreachable")

    def _once(self, verb: str, path: str, body: object, media: str) -> Answer | Failure:
        from requests import RequestException

        headers = {"Accept": media}
        keeps = verb == "GET" and media == JSON
        kept = self._tags.get(path) if keeps else None
        if kept is not None:
            headers["If-None-Match"] = kept.tag
        try:
            with Silence("GitHub", self._pace.say).waiting():
                status, got, text = self._hub.requester.requestJson(verb, path, headers=headers, input=body)
        except RequestException as error:
            # Its name and no more: the text of such an error may hold the address with whatever was in it.
            self.calls.append(ApiCall(verb, path, 0))
            return Failure(0, type(error).__name__)
        except RuntimeError:
            # PyGithub follows a redirect to the same host only.
            self.calls.append(ApiCall(verb, path, 301))
            return Failure(301, "the API lies elsewhere")
        self.calls.append(ApiCall(verb, path, status))
        if status == 304 and kept is not None:
            return Answer(200, kept.headers, json.loads(kept.text))
        if status >= 300:
            return failure_from(status, _json_or_text(text), got, self._pace.now())
        if keeps:
            self._tags.put(path, got, text)
        try:
            return Answer(status, got, json.loads(text) if text else None)
        except ValueError:
            # Cut short on its way. It may have been carried out.
            return Failure(0, "an answer that is not JSON")

    def _next_page(self, doing: str, answer: Answer) -> str | None:
        """The path of the next page as the Link header has it, sent to our own host whatever host it names."""
        found = _NEXT.search(answer.headers.get("link", ""))
        if found is None:
            return None
        link, prefix = urlsplit(found.group(1)), urlsplit(self._hub.requester.base_url).path.rstrip("/")
        if not link.path.startswith(f"{prefix}/"):
            failure = Failure(200, "a next page outside of the API")
            raise GitHubError(f"GitHub named {failure.message} while {doing}.", failure)
        return f"{link.path.removeprefix(prefix)}?{link.query}"


def understood(doing: str, parse: Callable[[Any], T], data: Any) -> T:
    """`parse(data)`; an answer of another shape becomes a `GitHubError`."""
    try:
        return parse(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        failure = Failure(200, f"an answer of an unknown shape ({type(error).__name__}: {error})")
        raise GitHubError(f"GitHub gave {failure.message} while {doing}.", failure) from error


def nothing(_: object) -> None:
    """For writes whose answer does not matter."""


def with_query(path: str, **fields: str) -> str:
    """`path` with the fields that are not empty."""
    query = urlencode({name: value for name, value in fields.items() if value})
    return f"{path}{'&' if '?' in path else '?'}{query}" if query else path


def _rows(data: Any, key: str) -> list[Any]:
    rows = data[key] if key else data
    if not isinstance(rows, list):
        raise TypeError("not a list")
    return rows


def _json_or_text(text: str) -> object:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text
