"""A repository's workflows executed by nektos/act on this machine: its host executor, without Docker.

act does not enforce `permissions:`. So each job's own action step is given a token of exactly the permissions that
the job asks for; and act does not know `queue:` yet. Nothing else of a workflow is changed. Other people's actions are
stand-ins: artifacts go through GitHub's own client to act's server.
"""

import contextlib
import json
import os
import random
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support.npm import installed
from tests.support.runner import ROOT, permissions_of
from tests.support.stage import Stage

VERSION = (ROOT / ".ci" / "act-version").read_text().strip()
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
ACT = CACHE / "slash-agent-tests" / f"act-{VERSION}" / "act"
ARTIFACT = ("@actions/artifact", "2.3.2")
STAND_INS = ROOT / "tests" / "action" / "stand-ins"
TIMEOUT = 300
PUBLISHED = "slash-agent/slash-agent@v0"

# What the action is made of, and what it must hear of this machine.
_SOURCE = ("action.yml", ".github", "bot", "pyproject.toml", "requirements.lock")
_PASSED_VARIABLES = re.compile("PATH$|LANG$|(?i:(https?|no)_proxy$)")


@dataclass(frozen=True)
class WorkflowRun:
    """A finished workflow. `jobs` has the result of every job that was started, by its id; `artifacts` their names."""

    code: int
    jobs: dict[str, str]
    log: str
    artifacts: frozenset[str]


@dataclass
class Act:
    """Runs workflows on a stage. `secrets` are the repository's, `variables` the runner's, `venv` has the program."""

    stage: Stage
    secrets: Mapping[str, str]
    variables: Mapping[str, str]
    venv: Path

    def run(self, text: str, event: Mapping[str, Any], name: str = "issue_comment") -> WorkflowRun:
        """A workflow of a repository that uses the published action, for one event."""
        folder = self.stage.folder / "act"
        shutil.rmtree(folder, ignore_errors=True)
        source = folder / "source"
        for part in _SOURCE:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy2
            source.mkdir(parents=True, exist_ok=True)
            copy(ROOT / part, source / part)
        # The job's token is an input here: act knows one token for all jobs.
        action = source / "action.yml"
        own_token = action.read_text().replace(
            "WORKFLOW_TOKEN: ${{ github.token", "WORKFLOW_TOKEN: ${{ inputs.github-token"
        )
        action.write_text(own_token)
        installer = source / ".github" / "action" / "install.py"
        installer.write_text(f"import os, sys\nos.symlink({str(self.venv)!r}, sys.argv[1])\n")
        file = folder / "workflow.yml"
        rewritten, tokens = self._with_tokens(text)
        file.write_text(rewritten)
        command = [
            str(ACT), name,
            "--directory", str(source),
            "--workflows", str(file),
            "--eventpath", str(self.stage.event_file(event, "act-event.json")),
            "--platform", "ubuntu-24.04=-self-hosted",
            "--json", "--rm",
            "--no-cache-server",
            "--action-cache-path", str(folder / "cache"),
            "--artifact-server-path", str(folder / "artifacts"),
            "--artifact-server-addr", "127.0.0.1",
            "--artifact-server-port", str(_free_port()),
        ]  # fmt: skip
        for key, value in {**self.secrets, **tokens, "GITHUB_TOKEN": "of-no-use"}.items():
            command += ["--secret", f"{key}={value}"]
        for key, value in self._runner().items():
            command += ["--env", f"{key}={value}"]
        command += ["--local-repository", f"{PUBLISHED}={source}"]
        for action, stand_in in _of_others(text + (ROOT / "action.yml").read_text()).items():
            command += ["--local-repository", f"{action}={stand_in}"]
        return self._execute(command, folder)

    def _execute(self, command: list[str], folder: Path) -> WorkflowRun:
        home = folder / "home"
        home.mkdir()
        environment = {key: value for key, value in os.environ.items() if _PASSED_VARIABLES.match(key)}
        process = subprocess.Popen(
            command, cwd=folder, text=True, start_new_session=True,
            env={**environment, "HOME": str(home)},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        limit = threading.Timer(TIMEOUT, process.kill)
        limit.start()
        try:
            assert process.stdout is not None
            lines = [_read(line) for line in process.stdout]
            code = process.wait()
        finally:
            limit.cancel()
        return WorkflowRun(
            code,
            {line["jobID"]: line["jobResult"] for line in lines if "jobResult" in line},
            "\n".join(f"[{line.get('jobID', '')}] {line['msg']}" for line in lines),
            frozenset(path.stem for path in (folder / "artifacts").rglob("*.zip")),
        )

    def _with_tokens(self, text: str) -> tuple[str, dict[str, str]]:
        """The workflow, with a token for each step that uses the action."""
        workflow_data = yaml.safe_load(text)
        tokens: dict[str, str] = {}
        lines: list[str] = []
        job, ours = "", False
        text = re.sub(r"^ +(queue: max|cache-mode: ).*\n", "", text, flags=re.MULTILINE)
        for line in text.splitlines():
            lines.append(line)
            if match := re.fullmatch(r"  ([\w-]+):", line):
                job = match.group(1)
            if match := re.match(r" +(?:- )?uses: (\S+)", line):
                ours = match.group(1) == PUBLISHED
            if ours and (match := re.fullmatch(r"( +)with:", line)):
                secret = f"TOKEN_{job.upper().replace('-', '_')}"
                permissions = permissions_of(workflow_data["jobs"][job])
                tokens[secret] = self.stage.forge.token(permissions=permissions, repo=self.stage.repo)
                lines.append(f"{match.group(1)}  github-token: ${{{{ secrets.{secret} }}}}")
                ours = False
        assert len(lines) == len(text.splitlines()) + len(
            re.findall(rf"uses: {PUBLISHED}(?= |$)", text, re.MULTILINE)
        )
        return "\n".join(lines) + "\n", tokens

    def _runner(self) -> dict[str, str]:
        artifacts = installed(*ARTIFACT) / "lib" / "artifact.js"
        return {
            "GITHUB_API_URL": self.stage.forge.api_url,
            "GITHUB_SERVER_URL": self.stage.forge.url,
            "GITHUB_REPOSITORY": self.stage.repo,
            "GITHUB_REPOSITORY_OWNER": self.stage.repo.partition("/")[0],
            "GITHUB_RUN_ID": "4711",
            "GITHUB_REF": "refs/heads/main",
            "SHA_REF": self.stage.branches()["main"],
            "ACT_TEST_ARTIFACT": str(artifacts),
            "ACT_TEST_CACHE": str(self.stage.folder / "cache"),
            **self.variables,
        }


def _of_others(text: str) -> dict[str, Path]:
    """Each action of other people's that a workflow uses, with what stands in for it."""
    used = re.findall(r"uses: actions/([\w-]+)[\w/-]*(@[0-9a-f]{40})", text)
    return {f"actions/{name}{commit}": STAND_INS / name for name, commit in used}


def _free_port() -> int:
    """Below those that the system gives to connections, of which a test beside this one makes many in the meantime."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _read(line: str) -> Mapping[str, Any]:
    try:
        match = json.loads(line)
    except ValueError:
        match = None
    return match if isinstance(match, dict) and "msg" in match else {"msg": line.rstrip("\n")}
