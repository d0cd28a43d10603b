"""The transport of GitHub's REST and GraphQL APIs: sends, retries, pages and counts requests.

`action` describes a request for the error message. PyGithub signs and sends; its lazy objects are not used, since
they send another request when a field is missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urlencode, urlsplit

from bot.contracts.idle import IdleReporter
from bot.github.dry_run import DryRun, description, stand_in, text_of
from bot.github.errors import Failure, GitHubError, failure_from, sentence
from bot.github.retry import Pace, wait_before_retry

if TYPE_CHECKING:
    import github


from collections import OrderedDict

T = TypeVar("T")

PAGE = 100
JSON = "application/vnd.github+json"
FULL = "application/vnd.github.full+json"
"""Media type of a response with the text as Markdown and as HTML."""

_LAST = re.compile(r'[?&]page=(\d{1,6})[^>]*>[^,]*;\s*rel="last"')
_TITLE = re.compile(r"<title>([^<]*)", re.IGNORECASE)
"""Of a page, such as a proxy sends in place of GitHub's response."""
_NEXT = re.compile(r'<([^<>]*)>[^,]*;\s*rel="next"')


WriteFilter = Callable[[str, object], object]
"""From a path of the API and the JSON of a write to the JSON that is sent."""


@dataclass(frozen=True, slots=True)
class Response:
    """`data` is the JSON, `None` without a body. Header names are lower case."""

    status: int
    headers: Mapping[str, str]
    data: Any


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One request that was sent, retries included. `status` is 0 without a response."""

    verb: str
    path: str
    status: int


class ApiTransport:
    """Base class of the parts of the client. Not thread-safe."""

    def __init__(self, hub: github.Github, pace: Pace) -> None:
        self._hub = hub
        self._pace = pace
        self.write_filter: WriteFilter | None = None
        """Applied to each write; raises where it must not be sent. `bot.gate.outbound` sets the gate's."""
        self.dry_run: DryRun | None = None
        self._cache = ETagCache()
        self.calls: list[ApiCall] = []

    def dry(self, say: Callable[[str], None]) -> Self:
        """Return a client that reads like this one and sends no write: each goes to `say` and `dry_run.writes`."""
        client = copy(self)
        client.dry_run = DryRun(say)
        return client

    def record(self, line: str, body: str = "") -> None:
        """Report a write of a dry run. A log is read by more people than a thread, so `line` is filtered too."""
        assert self.dry_run is not None
        self.dry_run.record(self._filtered("", {"message": line})["message"], body)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self._hub.requester.base_url}>"

    def _get(self, action: str, path: str, parse: Callable[[Any], T], media: str = JSON) -> T:
        """GET one resource."""
        return parsed(action, parse, self._request(action, "GET", path, media=media).data)

    def _get_or_none(self, action: str, path: str, parse: Callable[[Any], T], media: str = JSON) -> T | None:
        """GET one resource; `None` for 404 and 410."""
        try:
            return self._get(action, path, parse, media)
        except GitHubError as error:
            if error.status in (404, 410):
                return None
            raise

    def _list(
        self, action: str, path: str, parse: Callable[[Any], T], key: str = "", media: str = JSON
    ) -> Iterator[T]:
        """GET all pages of a list, lazily. `key` is the field that holds the rows."""
        page: str | None = with_query(path, per_page=str(PAGE))
        while page is not None:
            response = self._request(action, "GET", page, media=media)
            yield from parsed(action, lambda data: [parse(row) for row in _rows(data, key)], response.data)
            next_page = self._next_page(action, response)
            page = next_page if next_page != page else None

    def _list_backwards(
        self, action: str, path: str, parse: Callable[[Any], T], media: str = JSON
    ) -> Iterator[T]:
        """GET a list from its end, lazily. The first page is requested first, since it has the number of pages. Rows
        that are added in the meantime may be missed."""
        path = with_query(path, per_page=str(PAGE))

        def rows(response: Response) -> list[T]:
            return parsed(action, lambda data: [parse(row) for row in _rows(data, "")], response.data)[::-1]

        first = self._request(action, "GET", path, media=media)
        last = _LAST.search(first.headers.get("link", ""))
        for page in range(int(last.group(1)) if last else 1, 1, -1):
            yield from rows(self._request(action, "GET", with_query(path, page=str(page)), media=media))
        yield from rows(first)

    def _write(
        self, action: str, verb: str, path: str, body: object, parse: Callable[[Any], T], *, safe: bool
    ) -> T:
        """Write. `safe`: the write is idempotent, so it is retried without a response too."""
        fields = self._filtered(path, body)
        if self.dry_run is not None:
            self.record(description(verb, path, fields or {}), text_of(fields or {}))
            return parsed(action, parse, stand_in(path, fields or {}))
        self._pace.before_write()
        return parsed(action, parse, self._request(action, verb, path, fields, safe=safe).data)

    def _filtered(self, path: str, fields: Any) -> Any:
        return self.write_filter(path, fields) if self.write_filter is not None else fields

    def _request(
        self,
        action: str,
        verb: str,
        path: str,
        body: object = None,
        *,
        safe: bool = True,
        failure_in: Callable[[Response], Failure | None] = lambda _: None,
        media: str = JSON,
    ) -> Response:
        """Send a request, with retries. `failure_in` finds failures in responses with status 200; `media` is the Accept
        header. Raises `GitHubError`."""
        for attempt in count(1):
            response = self._attempt(verb, path, body, media)
            if isinstance(response, Failure) and (new_path := self._redirect_path(response)):
                response = self._attempt(verb, new_path, body, media)
            failure = response if isinstance(response, Failure) else failure_in(response)
            if failure is None:
                assert isinstance(response, Response)
                return response
            wait = wait_before_retry(failure, attempt, self._pace.now(), safe=safe)
            if wait is None:
                raise GitHubError(sentence(failure, action), failure)
            self._pace.wait(wait)
        raise AssertionError("unreachable")

    def _attempt(self, verb: str, path: str, body: object, media: str) -> Response | Failure:
        from requests import RequestException

        headers = {"Accept": media}
        cacheable = verb == "GET" and media == JSON
        cached = self._cache.get(path) if cacheable else None
        if cached is not None:
            headers["If-None-Match"] = cached.tag
        try:
            with IdleReporter("GitHub", self._pace.say).waiting():
                status, response_headers, text = self._hub.requester.requestJson(
                    verb, path, headers=headers, input=body
                )
        except RequestException as error:
            # Only its name: the text of such an error may contain the address with secrets in it.
            self.calls.append(ApiCall(verb, path, 0))
            return Failure(0, type(error).__name__)
        except RuntimeError:
            # PyGithub follows a redirect to the same host only.
            self.calls.append(ApiCall(verb, path, 301))
            return Failure(301, "the API lies elsewhere")
        self.calls.append(ApiCall(verb, path, status))
        if status == 304 and cached is not None:
            return Response(200, cached.headers, json.loads(cached.text))
        data = body_of(status, response_headers, text)
        if isinstance(data, Failure):
            return data
        if status >= 300:
            return failure_from(status, data, response_headers, self._pace.now())
        if cacheable:
            self._cache.put(path, response_headers, text)
        return Response(status, response_headers, data)

    def _next_page(self, action: str, response: Response) -> str | None:
        """The path of the next page from the Link header; its host is ignored."""
        match = _NEXT.search(response.headers.get("link", ""))
        if match is None:
            return None
        path = self._path_of(match.group(1))
        if not path:
            failure = Failure(200, "a next page outside of the API")
            raise GitHubError(f"GitHub named {failure.message} while {action}.", failure)
        return path

    def _redirect_path(self, failure: Failure) -> str:
        """The target path of a redirect to the same host, as GitHub sends for a repository that was renamed or
        transferred; empty for any other failure."""
        own, target = urlsplit(self._hub.requester.base_url), urlsplit(failure.location)
        same = (target.scheme, target.hostname) == (own.scheme, own.hostname)
        return self._path_of(failure.location) if failure.moved and same else ""

    def _path_of(self, url: str) -> str:
        """The path in the API with its query; empty outside of the API."""
        link, prefix = urlsplit(url), urlsplit(self._hub.requester.base_url).path.rstrip("/")
        if not link.path.startswith(f"{prefix}/"):
            return ""
        return f"{link.path.removeprefix(prefix)}{'?' if link.query else ''}{link.query}"


def parsed(action: str, parse: Callable[[Any], T], data: Any) -> T:
    """`parse(data)`. Raises `GitHubError` if the data has an unexpected shape."""
    try:
        return parse(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        failure = Failure(200, f"an answer of an unknown shape ({type(error).__name__}: {error})")
        raise GitHubError(f"GitHub gave {failure.message} while {action}.", failure) from error


def ignore_response(_: object) -> None:
    """The `parse` of writes whose response is not needed."""


def with_query(path: str, **fields: str) -> str:
    """`path` with a query of the fields that are not empty."""
    query = urlencode({name: value for name, value in fields.items() if value})
    return f"{path}{'&' if '?' in path else '?'}{query}" if query else path


def _rows(data: Any, key: str) -> list[Any]:
    rows = data[key] if key else data
    if not isinstance(rows, list):
        raise TypeError("not a list")
    return rows


def body_of(status: int, headers: Mapping[str, str], text: str) -> Any:
    """Return the JSON of a whole response, or of an error response its text. Anything else is a `Failure` without a
    response: it was cut short, or a proxy sent it, and the request may have been executed."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if status == 304:
        return Failure(0, "304 for a response that we do not have")
    if not text and status in (202, 204, 205):
        return None
    try:
        if status < 300 and kind and "json" not in kind:
            raise ValueError
        return json.loads(text)
    except ValueError:
        if status < 300:
            return Failure(
                0, f"{len(text)} characters of {kind or 'an unknown type'}, not a whole JSON response"
            )
        return f"{kind}, not JSON: {title[1]}" if (title := _TITLE.search(text)) else text


# Characters of JSON; the least recently used are removed first.
_CACHE_LIMIT = 8 << 20


@dataclass(frozen=True, slots=True)
class CachedResponse:
    tag: str
    headers: Mapping[str, str]
    text: str


class ETagCache:
    """Responses of one client by path and query, for conditional requests: a 304 costs no quota. Not shared between
    clients, since tokens have different rights."""

    def __init__(self, capacity: int = _CACHE_LIMIT) -> None:
        self._capacity = capacity
        self._used = 0
        self._responses: OrderedDict[str, CachedResponse] = OrderedDict()

    def get(self, path: str) -> CachedResponse | None:
        if path in self._responses:
            self._responses.move_to_end(path)
        return self._responses.get(path)

    def put(self, path: str, headers: Mapping[str, str], text: str) -> None:
        """Store a response if it has an ETag. Names in `headers` are lower case."""
        old = self._responses.pop(path, None)
        self._used -= len(old.text) if old else 0
        tag = headers.get("etag", "")
        if not tag or len(text) > self._capacity:
            return
        self._responses[path] = CachedResponse(tag, dict(headers), text)
        self._used += len(text)
        while self._used > self._capacity:
            _, gone = self._responses.popitem(last=False)
            self._used -= len(gone.text)


# The types of errors that come with status 200, as the statuses that REST would have given.
_STATUSES = {
    "FORBIDDEN": 403,
    "INSUFFICIENT_SCOPES": 403,
    "NOT_FOUND": 404,
    "RATE_LIMITED": 429,
    "RATE_LIMIT": 429,
    "SERVICE_UNAVAILABLE": 503,
}


class GraphQL(ApiTransport):
    """Read-only GraphQL queries, which are safe to retry."""

    def _query(self, action: str, query: str, variables: Mapping[str, object]) -> dict[str, Any]:
        """The `data` of the response. Raises `GitHubError` with the status of the equivalent REST error."""
        body = {"query": query, "variables": dict(variables)}
        response = self._request(
            action, "POST", self._hub.requester.graphql_url, body, failure_in=self._failure_in
        )
        return dict(response.data["data"])

    def _failure_in(self, response: Response) -> Failure | None:
        data = response.data if isinstance(response.data, Mapping) else {}
        errors = data.get("errors")
        if not errors:
            return None if isinstance(data.get("data"), Mapping) else Failure(0, "an answer without data")
        first = errors[0] if isinstance(errors, list) and isinstance(errors[0], Mapping) else {}
        status = _STATUSES.get(str(first.get("type") or ""), 0) or _status_from_message(
            str(first.get("message") or "")
        )
        return failure_from(status, {"message": first.get("message")}, response.headers, self._pace.now())


def _status_from_message(message: str) -> int:
    message = message.lower()
    if "rate limit" in message:
        return 429
    if "not accessible" in message or "permission" in message or "scopes" in message:
        return 403
    # A time-out and "Something went wrong" pass; a query that GitHub does not understand stays wrong.
    return 502 if "something went wrong" in message or "timeout" in message else 400
