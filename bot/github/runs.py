"""Workflow runs: starting and cancelling them, their artifacts, and streamed downloads of these and of logs."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from posixpath import basename
from urllib.parse import urlsplit

import requests
from github.Artifact import Artifact
from github.PaginatedList import PaginatedList
from github.WorkflowJob import WorkflowJob
from github.WorkflowRun import WorkflowRun
from requests.exceptions import InvalidSchema

from bot.github.errors import Failure, GitHubError, failure_from, sentence
from bot.github.retry import with_retries
from bot.github.transport import JSON, ApiPart, body_of, reading, unchanged

_TIMEOUT = 30
PIECE = 1 << 16
_REDIRECTS = 5


class Downloads(ApiPart):
    """Of API addresses that redirect to a signed address on another host, by `requests`, since PyGithub holds the
    whole response in memory. The token is sent to the API only.
    """

    @contextmanager
    def _download(self, path: str) -> Iterator[tuple[int, Iterator[bytes]]]:
        """Yield the announced size, 0 if none, and the body in pieces. Raises `GitHubError`, also while it is read."""
        action = reading(path)
        with _Session(self.requester.base_url) as session:
            attempt = partial(self._attempt, session, path)
            response = with_retries(attempt, self.requester.pace, action, safe=True)
            with response:
                length = response.headers.get("content-length", "")

                def pieces() -> Iterator[bytes]:
                    try:
                        yield from response.iter_content(PIECE)
                    except requests.RequestException as error:
                        failure = Failure(0, type(error).__name__)
                        raise GitHubError(sentence(failure, action), failure) from None

                yield int(length) if length.isdigit() else 0, pieces()

    def _attempt(self, session: requests.Session, path: str) -> requests.Response | Failure:
        # Unencoded, so that `content-length` is the number of bytes.
        headers = {"User-Agent": "slash-agent", "Accept": JSON, "Accept-Encoding": "identity"}
        if self.requester.auth is not None:
            self.requester.auth.authentication(headers)
        url = f"{self.requester.base_url.rstrip('/')}{path}"
        try:
            response = session.get(url, headers=headers, timeout=_TIMEOUT, stream=True)
        except (requests.TooManyRedirects, InvalidSchema) as error:
            return Failure(301, str(error))
        except requests.RequestException as error:
            return Failure(0, type(error).__name__)
        if response.status_code < 300:
            return response
        with response:
            body = "" if response.history else response.raw.read(PIECE).decode(errors="replace")
        lowered = {name.lower(): value for name, value in response.headers.items()}
        return failure_from(response.status_code, body_of(response.status_code, lowered, body), lowered)


class _Session(requests.Session):
    """Follows redirects, with the token only below `base_url`: also to a repository that was renamed."""

    def __init__(self, base_url: str) -> None:
        super().__init__()
        self._base_url = base_url
        self.max_redirects = _REDIRECTS
        # No `.netrc`, whose password would go to the other host. Proxies of the environment still apply.
        self.auth = lambda request: request

    def rebuild_auth(self, prepared_request: requests.PreparedRequest, response: requests.Response) -> None:
        url = str(prepared_request.url)
        if urlsplit(url).scheme != urlsplit(self._base_url).scheme:
            raise InvalidSchema("a redirect to another scheme")
        if not url.startswith(f"{self._base_url.rstrip('/')}/"):
            prepared_request.headers.pop("Authorization", None)


class Runs(Downloads):
    """`stop` and the fallback for tokens that start no workflows need `actions: write`; the rest reads."""

    def workflow_run(self, run_id: int) -> WorkflowRun:
        return self._parsed(lambda: unchanged(self._workflow_run(run_id).complete()))

    def active_run(self, run_id: int) -> WorkflowRun | None:
        """Return the run, `None` if it has ended or is gone."""
        run = self._parsed_or_none(lambda: self.workflow_run(run_id), (404,))
        return run if run and run.status != "completed" else None

    def workflow_runs(self, workflow: str = "", **filters: str) -> Iterator[WorkflowRun]:
        """Newest first. `workflow` is a file or an id. Of `filters`, `created` is a day, a time or a range
        (`>=2026-01-02`), `status` a status or a conclusion, `actor` the login of the account that caused the event,
        `event` its name; an empty one is ignored. With a filter GitHub lists at most 1,000.
        """
        source = self.source
        url = source.get_workflow(_file(workflow)).url if workflow else f"{source.url}/actions"
        wanted = {name: value for name, value in filters.items() if value}
        runs = PaginatedList(WorkflowRun, self.requester, f"{url}/runs", wanted, list_item="workflow_runs")
        return self._each(runs, unchanged)

    def jobs(self, run_id: int, *, every_attempt: bool = False) -> Iterator[WorkflowJob]:
        """The jobs of a run's last attempt, or of each; each job of a matrix counts."""
        run = self._workflow_run(run_id)
        return self._each(run.jobs("all" if every_attempt else "latest"), unchanged)

    def artifacts(self, run_id: int) -> list[Artifact]:
        return list(self._each(self._workflow_run(run_id).get_artifacts(), unchanged))

    def all_artifacts(self) -> Iterator[Artifact]:
        """The artifacts of all runs, newest first."""
        return self._each(self.source.get_artifacts(), unchanged)

    def count_artifacts(self, name: str) -> int:
        """How many artifacts of this very name the repository has."""
        return self._parsed(lambda: int(self.source.get_artifacts(name).totalCount))

    def download_artifact(self, artifact_id: int, limit: int) -> bytes:
        """Return the zip file. Raises `GitHubError` if it is over `limit` bytes, if possible before the download."""
        content = bytearray()
        with self._download(f"{self.root}/actions/artifacts/{artifact_id}/zip") as (size, pieces):
            while size <= limit and len(content) <= limit:
                if (piece := next(pieces, None)) is None:
                    return bytes(content)
                content += piece
        words = f"The artifact {artifact_id} of {self.name} is bigger than the {limit:,} bytes allowed."
        raise GitHubError(words, Failure(200, "too big"))

    def rerun_failed_jobs(self, run_id: int) -> None:
        self._workflow_run(run_id).rerun_failed_jobs()

    def cancel_run(self, run_id: int) -> None:
        """Raises `GitHubError` 409 if the run has ended."""
        self._workflow_run(run_id).cancel()

    def dispatch_workflow(self, workflow: str, ref: str, **inputs: str) -> None:
        """Start `workflow` (a file or an id) on the branch `ref`. It must have `workflow_dispatch` there."""
        source = self.source.get_workflow(_file(workflow))
        source.create_dispatch(ref, inputs, throw=True)

    def _workflow_run(self, run_id: int) -> WorkflowRun:
        """With the addresses for which PyGithub would request the run first."""
        url = f"{self.root}/actions/runs/{run_id}"
        parts = {"jobs_url": "jobs", "artifacts_url": "artifacts", "cancel_url": "cancel"}
        known = {name: f"{url}/{part}" for name, part in parts.items()}
        return WorkflowRun(self.requester, attributes=known, url=url)


def _file(workflow: str) -> str:
    """GitHub takes the name of a workflow's file, without its folder."""
    return basename(workflow)
