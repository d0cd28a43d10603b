"""Create workflow runs, check runs and statuses; nothing is executed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slash_forge import checks, runs
from slash_forge.checks import Annotation, CheckRun, CheckStatus, Conclusion
from slash_forge.runs import Artifact, Job, Run, Step
from slash_forge.scenario.base import Base
from slash_forge.shapes.actions import job_page
from slash_forge.state import ACTIONS_BOT, Repository

# The bot of an app that is not Actions.
_OTHER_CI = "some-ci[bot]"


class Actions(Base):
    def add_run(
        self,
        repo: str,
        *,
        workflow: str = ".github/workflows/ci.yml",
        name: str = "CI",
        event: str = "push",
        actor: str | None = None,
        branch: str | None = None,
        sha: str | None = None,
        pull: int | None = None,
        conclusion: str | None = "success",
        status: CheckStatus | None = None,
        title: str = "",
        at: str | None = None,
    ) -> int:
        """Add a workflow run; the workflow file need not exist. Returns its id.

        It runs on `branch` (default: the default branch) at `sha` (default: its tip), or on the head of pull request
        `pull`. Without a conclusion it is in progress, or has `status`.
        """
        with self._state.lock:
            repository = self._repository(repo)
            source: Repository | None = repository
            if pull is not None:
                request = repository.threads[pull].pull
                assert request is not None, f"#{pull} is not a pull request"
                source, branch, sha = request.head_repository, request.head_ref, request.head_sha
            branch = branch or repository.default_branch
            head = sha or repository.git.branch(branch)
            assert head is not None, f"{repo} has no branch {branch}"
            run = runs.start(
                self._state,
                repository,
                runs.workflow_at(self._state, repository, workflow, name),
                event=event,
                actor=self._user(actor) if actor else repository.owner,
                sha=head,
                app=self._user(ACTIONS_BOT),
                branch=branch,
                title=title,
                head_repository=source,
                at=at,
            )
            run.status = status or ("completed" if conclusion else "in_progress")
            run.conclusion = conclusion
            return run.id

    def set_run(self, repo: str, run_id: int, *, conclusion: str) -> None:
        """Finish a run."""
        with self._state.lock:
            runs.finish(self._state, self._run(repo, run_id), conclusion)

    def run_state(self, repo: str, run_id: int) -> tuple[str, str | None]:
        """Its status and its conclusion."""
        run = self._run(repo, run_id)
        return run.status, run.conclusion

    def add_job(
        self,
        repo: str,
        run_id: int,
        name: str = "test",
        *,
        conclusion: str | None = "success",
        steps: Sequence[Step] = (),
        annotations: Sequence[Annotation] = (),
        title: str | None = None,
    ) -> int:
        """Add a job to a run, and a check run of the same id. Without a conclusion it is in progress."""
        with self._state.lock:
            repository, run = self._repository(repo), self._run(repo, run_id)
            number, now = self._state.next_id(), self._state.now()
            check = CheckRun(
                number,
                run.suite,
                name,
                "completed" if conclusion else "in_progress",
                conclusion,
                now,
                now if conclusion else None,
                title,
                details_url=job_page(self._server.site, repository, run, number),
                annotations=list(annotations),
            )
            repository.check_runs[number] = check
            run.jobs.append(Job(number, run, name, run.attempt, check, tuple(steps)))
            return number

    def expire_logs(self, repo: str, run_id: int) -> None:
        with self._state.lock:
            for job in self._run(repo, run_id).jobs:
                job.log_kept = False

    def add_artifact(
        self,
        repo: str,
        run_id: int,
        name: str,
        files: Mapping[str, bytes] | bytes,
        *,
        expired: bool = False,
        at: str | None = None,
    ) -> int:
        """`files` are zipped; bytes are stored unchanged. Returns the artifact's id."""
        with self._state.lock:
            data = files if isinstance(files, bytes) else runs.zipped(files)
            run = self._run(repo, run_id)
            one = Artifact(self._state.next_id(), run, name, data, at or self._state.now(), expired)
            self._repository(repo).artifacts[one.id] = one
            return one.id

    def runs(self, repo: str) -> list[Mapping[str, Any]]:
        """Every run, oldest first: id, workflow, event, branch, status, conclusion and inputs."""
        return [
            {
                "id": run.id,
                "workflow": run.workflow.path,
                "event": run.event,
                "branch": run.branch,
                "status": run.status,
                "conclusion": run.conclusion,
                "inputs": dict(run.inputs),
            }
            for run in self._repository(repo).runs.values()
        ]

    def _run(self, repo: str, run_id: int) -> Run:
        return self._repository(repo).runs[run_id]


class Checks(Base):
    def add_check_run(
        self,
        repo: str,
        sha: str,
        name: str,
        conclusion: Conclusion | None = "failure",
        *,
        app: str = _OTHER_CI,
        title: str | None = None,
        summary: str | None = None,
        annotations: Sequence[Annotation] = (),
    ) -> int:
        """Add a check run of another app, whose bot is added if missing. Without a conclusion it is in progress."""
        with self._state.lock:
            self.add_user(app, kind="Bot")
            repository = self._repository(repo)
            now = self._state.now()
            run = CheckRun(
                self._state.next_id(),
                checks.suite(self._state, repository, sha, self._user(app)),
                name,
                "completed" if conclusion else "in_progress",
                conclusion,
                now,
                now if conclusion else None,
                title,
                summary,
                annotations=list(annotations),
            )
            repository.check_runs[run.id] = run
            return run.id

    def add_status(
        self,
        repo: str,
        sha: str,
        context: str,
        state: str,
        *,
        description: str | None = None,
        target_url: str | None = None,
    ) -> None:
        """`state`: error, failure, pending or success."""
        with self._state.lock:
            self.add_user(_OTHER_CI, kind="Bot")
            now = self._state.now()
            number = self._state.next_id()
            self._repository(repo).statuses.append(
                checks.Status(
                    number, sha, context, state, description, target_url, self._user(_OTHER_CI), now
                )
            )
