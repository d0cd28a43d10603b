"""The transport of GitHub's APIs: PyGithub's requester with our retries, write filter and dry run.

PyGithub's objects send through it. They are lazy: making one sends nothing, reading its first field requests it.
What a request does is read from its verb and path alone: its words for people, whether it may be repeated, and whether
texts come with their HTML.
"""

import json
import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from datetime import UTC, datetime
from textwrap import indent
from typing import Any, NamedTuple, Self, TypeVar
from urllib.parse import urlsplit

from github.Auth import Auth
from github.GithubException import BadAttributeException, GithubException
from github.GithubObject import CompletableGithubObject, GithubObject, _BadAttribute
from github.Repository import Repository
from github.Requester import Requester
from requests import RequestException

from bot.contracts.idle import IdleReporter
from bot.github.dry_run import description, stand_in, text_of
from bot.github.errors import Failure, GitHubError, failure_from
from bot.github.retry import Pace, with_retries
from bot.github.text_limits import fit, fit_title

T = TypeVar("T")
ObjectT = TypeVar("ObjectT", bound=GithubObject)

PAGE = 100
JSON = "application/vnd.github+json"
FULL = "application/vnd.github.full+json"
"""Media type of a response with the text as Markdown and as HTML (`body_html`)."""

_TIMEOUT = 30
_API_VERSION = "2022-11-28"
_TEXTS = re.compile(r"/(?:issues|pulls|comments|reviews)(?:/\d+)?(?:\?.*)?\Z")
"""Reads of texts and of lists of texts."""

_REPEATABLE = re.compile(
    r"/(?:labels|reactions|requested_reviewers|pulls|git/(?:blobs|trees|commits)|cancel|access_tokens)\Z"
)
"""POSTs that do no harm twice: GitHub refuses the second, or it changes nothing."""
_ADDING = re.compile(r"/check-runs/\d+\Z")
"""PATCHes that add: annotations of an update are added to those that are there."""
_LAST = re.compile(r'[?&]page=(\d{1,6})[^>]*>[^,]*;\s*rel="last"')
_TITLE = re.compile(r"<title>([^<]*)", re.IGNORECASE)
"""Of a page, such as a proxy sends in place of GitHub's response."""

WriteFilter = Callable[[str, object], object]
"""From a path of the API and the JSON of a write to the JSON that is sent."""


class Response(NamedTuple):
    """`data` is the JSON, `None` without a body. Header names are lower case."""

    status: int
    headers: Mapping[str, str]
    data: Any


class ApiRequester(Requester):
    """Sends every request of PyGithub's objects. Raises `GitHubError`. Not thread-safe."""

    def __init__(self, api_url: str, auth: Auth | None, pace: Pace) -> None:
        logging.getLogger("github").setLevel(logging.WARNING)
        super().__init__(
            auth=auth,
            base_url=api_url.rstrip("/"),
            timeout=_TIMEOUT,
            user_agent="slash-agent",
            per_page=PAGE,
            verify=True,
            retry=None,
            pool_size=None,
            # By default it waits 0.25 s between any two requests and 1 s between writes.
            seconds_between_requests=0,
            seconds_between_writes=0,
            lazy=True,
            api_version=_API_VERSION,
        )
        self.pace = pace
        self.write_filter: WriteFilter | None = None
        """Applied to each write; raises where it must not be sent. `bot.gate.outbound` sets the gate's."""
        self.dry: Callable[[str], None] | None = None
        """In a dry run gets each write as text, and none is sent."""
        self._action = "send a request"

    @contextmanager
    def known_shape(self) -> Iterator[None]:
        """Data of an unexpected shape is a `GitHubError`."""
        try:
            yield
        except (BadAttributeException, GithubException) as error:
            raise self._unknown_shape(type(error).__name__) from error
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._unknown_shape(f"{type(error).__name__}: {error}") from error

    def requestJsonAndCheck(self, verb: str, url: str, *args: Any, **more: Any) -> tuple[dict[str, Any], Any]:
        response = self._request(verb, url, *args, **more)
        return dict(response.headers), response.data

    def requestJson(self, verb: str, url: str, *args: Any, **more: Any) -> tuple[int, dict[str, Any], str]:
        """The body is left out: PyGithub calls this only for the status."""
        response = self._request(verb, url, *args, **more)
        return response.status, dict(response.headers), ""

    def newest_first(self, kind: type[ObjectT], path: str) -> Iterator[ObjectT]:
        """GET a list from its end, lazily, the first page only once, unlike PyGithub's `reversed`."""

        def page(**parameters: int) -> tuple[dict[str, Any], list[ObjectT]]:
            headers, rows = self.requestJsonAndCheck("GET", path, {"per_page": PAGE, **parameters})
            return headers, [kind(self, headers, row) for row in reversed(rows)]

        headers, first = page()
        last = _LAST.search(headers.get("link", ""))
        for number in range(int(last.group(1)) if last else 1, 1, -1):
            yield from page(page=number)[1]
        yield from first

    def record(self, line: str, body: str = "") -> None:
        """Report a write of a dry run. A log is read by more people than a thread, so `line` is filtered too."""
        assert self.dry is not None
        line = self._filtered("", {"message": line})["message"]
        self.dry(f"would {line}" + (f":\n{indent(body.rstrip(), '    ')}" if body else ""))

    def _filtered(self, path: str, fields: Any) -> Any:
        return self.write_filter(path, fields) if self.write_filter is not None else fields

    def _request(
        self, verb: str, url: str, parameters: Any = None, headers: Any = None, input: Any = None, **_: Any
    ) -> Response:
        media, fields = (headers or {}).get("Accept", JSON), input
        if url == self.graphql_url:
            # Queries, and resolving a thread: safe to repeat.
            name = re.search(r"(\w+)\((?!\$input)", str(fields["query"]))
            self._action = f"use GraphQL: {name[1] if name else 'a query'}"
            return self._deliver(verb, url, fields, media, safe=True)
        path = self._path(self.add_parameters_to_url(url, parameters or {}))
        if verb == "GET":
            self._action = reading(path)
            media = FULL if media == JSON and _TEXTS.search(path) else media
            return self._deliver(verb, path, None, media, safe=True)
        if isinstance(fields, dict):
            cut: Mapping[str, Callable[[str], str]] = {"title": fit_title, "body": fit}
            fields = {name: cut[name](text) if name in cut else text for name, text in fields.items()}
        fields = self._filtered(path, fields)
        self._action = description(verb, path)
        if self.dry is not None:
            self.record(self._action, text_of(fields or {}))
            return Response(200, {}, stand_in(path, fields or {}))
        self.pace.before_write()
        repeatable = _REPEATABLE.search(path) if verb == "POST" else not _ADDING.search(path)
        return self._deliver(verb, path, fields, media, safe=bool(repeatable))

    def _deliver(self, verb: str, path: str, fields: Any, media: str, *, safe: bool) -> Response:
        """Send a request, with retries."""

        def attempt() -> Response | Failure:
            response = self._attempt(verb, path, fields, media)
            if not isinstance(response, Failure) or not response.moved:
                return response
            # A repository that was renamed or transferred: GitHub redirects to another path of the same host.
            own, target = urlsplit(self.base_url), urlsplit(response.location)
            is_same_host = (target.scheme, target.hostname) == (own.scheme, own.hostname)
            new_path = self._path_of(response.location) if is_same_host else ""
            return self._attempt(verb, new_path, fields, media) if new_path else response

        return with_retries(attempt, self.pace, self._action, safe=safe)

    def _attempt(self, verb: str, path: str, fields: Any, media: str) -> Response | Failure:
        try:
            with IdleReporter("GitHub", self.pace.say).waiting():
                status, headers, text = super().requestJson(verb, path, None, {"Accept": media}, fields)
        except RequestException as error:
            # Only its name: the text of such an error may contain the address with secrets in it.
            return Failure(0, type(error).__name__)
        except RuntimeError:
            # PyGithub follows a redirect to the same host only.
            return Failure(301, "the API lies elsewhere")
        data = body_of(status, headers, text)
        if isinstance(data, Failure):
            return data
        if status >= 300:
            return failure_from(status, data, headers)
        if verb == "GET" and not data and data != [] and status == 200:
            raise self._unknown_shape(f"{data!r:.20}")
        response = Response(status, headers, data)
        return (self._graphql_failure(response) if path == self.graphql_url else None) or response

    def _path(self, url: str) -> str:
        """The path of an address that GitHub gave. Its host is ignored, so the token goes to our own API alone."""
        path = url if url.startswith("/") else self._path_of(url)
        if not path:
            failure = Failure(200, "a next page outside of the API")
            raise GitHubError(f"GitHub named {failure.message} in its answer to: {self._action}.", failure)
        return path

    def _path_of(self, url: str) -> str:
        """The path in the API with its query; empty outside of the API."""
        link, prefix = urlsplit(url), urlsplit(self.base_url).path.rstrip("/")
        if not link.path.startswith(f"{prefix}/"):
            return ""
        return f"{link.path.removeprefix(prefix)}{'?' if link.query else ''}{link.query}"

    def _unknown_shape(self, detail: str) -> GitHubError:
        failure = Failure(200, f"an answer of an unknown shape ({detail})")
        return GitHubError(f"GitHub gave {failure.message} to the request to {self._action}.", failure)

    def _graphql_failure(self, response: Response) -> Failure | None:
        """The failure in a response with status 200."""
        data = response.data if isinstance(response.data, Mapping) else {}
        errors = data.get("errors")
        if not errors:
            return None if isinstance(data.get("data"), Mapping) else Failure(0, "an answer without data")
        first = errors[0] if isinstance(errors, list) and isinstance(errors[0], Mapping) else {}
        message = str(first.get("message") or "")
        # A time-out and "Something went wrong" pass; a query that GitHub does not understand stays wrong.
        words = f"{first.get('type')} {message}".lower()
        status = next((status for sign, status in _GRAPHQL.items() if re.search(sign, words)), 400)
        return failure_from(status, {"message": message}, response.headers)


class ApiPart:
    """Base class of the parts of the client, which is for the repository `name`. Not thread-safe."""

    def __init__(self, requester: ApiRequester, repository: str) -> None:
        self.requester = requester
        self.name = repository
        self.root = f"/repos/{repository}"

    @property
    def is_dry(self) -> bool:
        """Whether it was made by `dry`."""
        return self.requester.dry is not None

    def dry(self, say: Callable[[str], None]) -> Self:
        """Return a client that reads like this one and sends no write: each goes to `say`."""
        client = copy(self)
        client.requester = copy(self.requester)
        client.requester.dry = say
        return client

    @property
    def source(self) -> Repository:
        """PyGithub's object, on which nothing was requested."""
        return Repository(self.requester, url=self.root)

    def _parsed(self, call: Callable[[], T]) -> T:
        """Return what `call` makes of an answer. Data of an unexpected shape is a `GitHubError`."""
        with self.requester.known_shape():
            return call()

    def _parsed_or_none(self, call: Callable[[], T], statuses: Collection[int] = (404, 410)) -> T | None:
        """`None` for these statuses."""
        try:
            return self._parsed(call)
        except GitHubError as error:
            if error.status in statuses:
                return None
            raise

    def _get(self, path: str, parse: Callable[[Any], T], **parameters: object) -> T:
        """GET what PyGithub has no object for."""
        return self._parsed(lambda: parse(self.requester.requestJsonAndCheck("GET", path, parameters)[1]))

    def _each(self, objects: Iterable[ObjectT], parse: Callable[[ObjectT], T]) -> Iterator[T]:
        """Parse a list, whose pages are requested as they are taken."""
        rows = iter(objects)
        while True:
            with self.requester.known_shape():
                row = next(rows, None)
                if row is None:
                    return
                if isinstance(row, CompletableGithubObject):
                    # A field that the list leaves out is `None`, and no reason to request each object by itself.
                    row._set_complete()
                value = parse(row)
            yield value

    def _query(self, query: str, **variables: object) -> Any:
        """Return GraphQL's data of the repository. Use it where the shape is checked."""
        owner, _, name = self.name.partition("/")
        answer = self.requester.graphql_query(query, {"owner": owner, "name": name, **variables})
        return answer[1]["data"]["repository"]

    def _mutate(self, what: str, mutation: str, **fields: str) -> None:
        """Change by GraphQL what REST cannot. `what` is a verb phrase for a dry run."""
        if self.is_dry:
            self.requester.record(f"{what} of {self.name}")
            return
        self.requester.pace.before_write()
        self.requester.graphql_named_mutation(mutation, fields, "clientMutationId")

    def _post(self, path: str, fields: object, verb: str = "POST") -> Any:
        """Send a write that PyGithub has no method for."""
        return self.requester.requestJsonAndCheck(verb, path, input=fields)[1]


def reading(path: str) -> str:
    """Return a read as a verb phrase, such as `read issues/7/comments of octo/hello`."""
    _, root, *names = path.partition("?")[0].split("/")
    if root != "repos" or len(names) < 2:
        return f"read {path.partition('?')[0]}"
    rest = "/".join(names[2:])
    return f"read {rest or 'the data'} of {names[0]}/{names[1]}"


def unchanged(row: ObjectT) -> ObjectT:
    """Return an object of PyGithub as it is. Raises for a field of another type than GitHub documents."""
    for attribute in vars(row).values():
        if isinstance(attribute, _BadAttribute):
            _ = attribute.value
    return row


def stamp(moment: datetime | None) -> str:
    """RFC 3339 in UTC; empty for none."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if moment is not None else ""


def body_of(status: int, headers: Mapping[str, str], text: str) -> Any:
    """Return the JSON of a response, an error's text, or a `Failure` for a damaged one: it may have been executed."""
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
            return Failure(0, f"{len(text)} characters of {kind or 'an unknown type'}, not whole JSON")
        return f"{kind}, not JSON: {title[1]}" if (title := _TITLE.search(text)) else text


# By types and words of errors that come with status 200, the statuses that REST would have given.
_GRAPHQL = {
    "rate.limit": 429,
    "forbidden|not accessible|permission|scopes": 403,
    "not_found": 404,
    "service_unavailable|something went wrong|timeout": 502,
}
