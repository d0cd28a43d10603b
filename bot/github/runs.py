"""Workflow runs and their artifacts; starting and cancelling runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from bot.github.accounts import account
from bot.github.downloads import Downloads
from bot.github.errors import Failure, GitHubError
from bot.github.transport import ignore_response, with_query
from bot.github.values import ArtifactData, JobData, WorkflowRunData


class Runs(Downloads):
    """`stop` and the fallback for tokens that start no workflows need `actions: write`; the rest reads."""

    def workflow_run(self, repository: str, run_id: int) -> WorkflowRunData:
        return self._get(
            f"reading run {run_id} of {repository}", f"/repos/{repository}/actions/runs/{run_id}", _run
        )

    def workflow_runs(
        self,
        repository: str,
        workflow: str = "",
        *,
        event: str = "",
        created: str = "",
        status: str = "",
        actor: str = "",
    ) -> Iterator[WorkflowRunData]:
        """Newest first. `workflow` is a file or an id; `created` a day, a time or a range (`>=2026-01-02`).

        `status` takes a status or a conclusion, `actor` the login of whoever caused the event. With a filter
        GitHub lists at most 1,000.
        """
        of = f"/workflows/{_file(workflow)}" if workflow else ""
        path = with_query(
            f"/repos/{repository}/actions{of}/runs", event=event, created=created, status=status, actor=actor
        )
        return self._list(f"listing the runs of {workflow or repository}", path, _run, "workflow_runs")

    def jobs(self, repository: str, run_id: int) -> Iterator[JobData]:
        """The jobs of a run's last attempt; each job of a matrix counts."""
        path = f"/repos/{repository}/actions/runs/{run_id}/jobs"
        return self._list(f"listing the jobs of run {run_id} of {repository}", path, _job, "jobs")

    def artifacts(self, repository: str, run_id: int) -> list[ArtifactData]:
        action = f"listing the artifacts of run {run_id} of {repository}"
        path = f"/repos/{repository}/actions/runs/{run_id}/artifacts"
        return list(self._list(action, path, _artifact, "artifacts"))

    def all_artifacts(self, repository: str) -> Iterator[ArtifactData]:
        """The artifacts of all runs, newest first."""
        path = f"/repos/{repository}/actions/artifacts"
        return self._list(f"listing the artifacts of {repository}", path, _artifact, "artifacts")

    def download_artifact(self, repository: str, artifact_id: int, limit: int) -> bytes:
        """Return the zip file. Raises `GitHubError` if it is over `limit` bytes, if possible before the download."""
        action = f"downloading artifact {artifact_id} of {repository}"
        path = f"/repos/{repository}/actions/artifacts/{artifact_id}/zip"
        content = bytearray()
        with self._download(action, path) as download:
            if (download.size or 0) > limit:
                raise _too_big(action, limit)
            for piece in download.pieces():
                content += piece
                if len(content) > limit:
                    raise _too_big(action, limit)
        return bytes(content)

    def cancel_run(self, repository: str, run_id: int) -> None:
        """Raises `GitHubError` 409 if the run has ended."""
        action = f"cancelling run {run_id} of {repository}"
        self._write(
            action,
            "POST",
            f"/repos/{repository}/actions/runs/{run_id}/cancel",
            None,
            ignore_response,
            safe=True,
        )

    def dispatch_workflow(
        self, repository: str, workflow: str, ref: str, inputs: Mapping[str, str] | None = None
    ) -> None:
        """Start `workflow` (a file or an id) on the branch `ref`. It must have `workflow_dispatch` there."""
        path = f"/repos/{repository}/actions/workflows/{_file(workflow)}/dispatches"
        body = {"ref": ref, "inputs": dict(inputs or {})}
        self._write(
            f"starting the workflow {workflow} on {ref} in {repository}",
            "POST",
            path,
            body,
            ignore_response,
            safe=False,
        )


def _file(workflow: str) -> str:
    """GitHub takes the name of a workflow's file, without its folder."""
    return quote(workflow.rpartition("/")[2], safe="")


def _too_big(action: str, limit: int) -> GitHubError:
    return GitHubError(
        f"Stopped while {action}: it is bigger than the {limit:,} bytes that are allowed.",
        Failure(200, "too big"),
    )


def _run(data: Any) -> WorkflowRunData:
    return WorkflowRunData(
        id=int(data["id"]),
        name=str(data.get("name") or ""),
        path=str(data.get("path") or "").partition("@")[0],
        event=str(data["event"]),
        status=str(data.get("status") or ""),
        conclusion=str(data.get("conclusion") or ""),
        head_branch=str(data.get("head_branch") or ""),
        head_sha=str(data["head_sha"]),
        head_repository=str((data.get("head_repository") or {}).get("full_name") or ""),
        actor=account(data.get("actor")),
        attempt=int(data.get("run_attempt") or 1),
        url=str(data["html_url"]),
        created_at=str(data["created_at"]),
        updated_at=str(data["updated_at"]),
        title=str(data.get("display_title") or ""),
        pulls=tuple(int(pull["number"]) for pull in data.get("pull_requests") or ()),
    )


def _job(data: Any) -> JobData:
    return JobData(str(data["name"]), str(data.get("conclusion") or ""))


def _artifact(data: Any) -> ArtifactData:
    return ArtifactData(
        id=int(data["id"]),
        name=str(data["name"]),
        size=int(data["size_in_bytes"]),
        expired=bool(data["expired"]),
        created_at=str(data.get("created_at") or ""),
        run_id=int((data.get("workflow_run") or {}).get("id") or 0),
    )
