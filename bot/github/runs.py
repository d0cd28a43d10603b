"""Workflow runs and their artifacts; starting and cancelling runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from github.Artifact import Artifact
from github.PaginatedList import PaginatedList
from github.WorkflowJob import WorkflowJob
from github.WorkflowRun import WorkflowRun

from bot.github.downloads import Downloads
from bot.github.errors import Failure, GitHubError
from bot.github.transport import unchanged


class Runs(Downloads):
    """`stop` and the fallback for tokens that start no workflows need `actions: write`; the rest reads."""

    def workflow_run(self, repository: str, run_id: int) -> WorkflowRun:
        return self._parsed(lambda: unchanged(self._workflow_run(repository, run_id).complete()))

    def workflow_runs(self, repository: str, workflow: str = "", **filters: str) -> Iterator[WorkflowRun]:
        """Newest first. `workflow` is a file or an id. Of `filters`, `created` is a day, a time or a range
        (`>=2026-01-02`), `status` a status or a conclusion, `actor` the login of the account that caused the event,
        `event` its name; an empty one is ignored. With a filter GitHub lists at most 1,000.
        """
        source = self._repository(repository)
        url = source.get_workflow(_file(workflow)).url if workflow else f"{source.url}/actions"
        parameters = {name: value for name, value in filters.items() if value}
        runs = PaginatedList(
            WorkflowRun, self.requester, f"{url}/runs", parameters, list_item="workflow_runs"
        )
        return self._each(runs, unchanged)

    def jobs(self, repository: str, run_id: int, *, every_attempt: bool = False) -> Iterator[WorkflowJob]:
        """The jobs of a run's last attempt, or of each; each job of a matrix counts."""
        run = self._workflow_run(repository, run_id)
        return self._each(run.jobs("all" if every_attempt else "latest"), unchanged)

    def artifacts(self, repository: str, run_id: int) -> list[Artifact]:
        return list(self._each(self._workflow_run(repository, run_id).get_artifacts(), unchanged))

    def all_artifacts(self, repository: str) -> Iterator[Artifact]:
        """The artifacts of all runs, newest first."""
        return self._each(self._repository(repository).get_artifacts(), unchanged)

    def download_artifact(self, repository: str, artifact_id: int, limit: int) -> bytes:
        """Return the zip file. Raises `GitHubError` if it is over `limit` bytes, if possible before the download."""
        content = bytearray()
        with self._download(f"/repos/{repository}/actions/artifacts/{artifact_id}/zip") as (size, pieces):
            while size <= limit and len(content) <= limit:
                if (piece := next(pieces, None)) is None:
                    return bytes(content)
                content += piece
        words = (
            f"The artifact {artifact_id} of {repository} is bigger than the {limit:,} bytes that are allowed."
        )
        raise GitHubError(words, Failure(200, "too big"))

    def cancel_run(self, repository: str, run_id: int) -> None:
        """Raises `GitHubError` 409 if the run has ended."""
        self._workflow_run(repository, run_id).cancel()

    def dispatch_workflow(
        self, repository: str, workflow: str, ref: str, inputs: Mapping[str, str] | None = None
    ) -> None:
        """Start `workflow` (a file or an id) on the branch `ref`. It must have `workflow_dispatch` there."""
        source = self._repository(repository).get_workflow(_file(workflow))
        source.create_dispatch(ref, dict(inputs or {}), throw=True)

    def _workflow_run(self, repository: str, run_id: int) -> WorkflowRun:
        """With the addresses for which PyGithub would request the run first."""
        url = f"/repos/{repository}/actions/runs/{run_id}"
        parts = {"jobs_url": "jobs", "artifacts_url": "artifacts", "cancel_url": "cancel"}
        known = {name: f"{url}/{part}" for name, part in parts.items()}
        return WorkflowRun(self.requester, attributes=known, url=url)


def _file(workflow: str) -> str:
    """GitHub takes the name of a workflow's file, without its folder."""
    return workflow.rpartition("/")[2]
