"""python -m benchmarks.first_hour.actions: measure the workflow that `init` writes on other people's repositories.

Its jobs run on one machine, each with the same, empty folders: `prepare` runs CI's own set-up steps and packs what they
left, `run` works on `/agent fix` with that file, `publish` opens the pull request on a forge on loopback. GitHub has
stand-ins: an interpreter of pyenv for `actions/setup-python`, nvm's newest for `actions/setup-node`, npm's package for
pnpm and Bun, PyPI's for Poetry, what is on the PATH for other actions; a folder for artifacts; the mirrors for the
repositories of submodules. Poetry has a plug-in here that reads the index of PyPI alone. `plain` has to be measured
before.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import yaml

from benchmarks.first_hour.__main__ import HERE, Place, Repository, measured, options_of, script
from benchmarks.first_hour.verdict import counted, verdict
from bot.doctor.init_files import workflow_text
from bot.environment.detect import detect
from slash_forge import Forge
from slash_forge.bundled import MAINTAINER, OWNER, REPORTER
from slash_forge.forge import ACTIONS_BOT
from tests.support.model_server import ModelServer

ROOT = HERE.parents[1]
_PYENV = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
_KEPT = re.compile(r"LANG$|GOPROXY$|(PIP|UV|SSL|REQUESTS|CURL)_|NODE_EXTRA|(?i:(https?|no)_proxy$)")
_MINUTES = 25
_OWN = "slash-agent"
_POETRY_MIRROR = "poetry-plugin-pypi-mirror"
_OWN_PIPX = next(_PYENV.glob("versions/*/bin/pipx"), "pipx")
_PIPX = f"""\
#!/bin/sh
export PIPX_DEFAULT_PYTHON=/usr/bin/python3
{_OWN_PIPX} "$@" || exit
case "$*" in *"install poetry"*) {_OWN_PIPX} inject poetry {_POETRY_MIRROR};; esac
"""


class Runner:
    """A runner's machine. `begin` empties its folders, which are at the same path in each job."""

    def __init__(self, root: Path, name: str, log: Path) -> None:
        self.root, self.log = root, log
        self.workspace = root / "work" / name / name
        self.home, self.temp, self.tools = root / "home", root / "temp", root / "tools"
        self.variables: dict[str, str] = {}
        self.path: list[str] = []

    def begin(self) -> None:
        for folder in (self.workspace, self.home, self.temp, self.tools):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        others = (str(Path(sys.executable).parent), str(_PYENV))
        path = os.environ["PATH"].split(os.pathsep)
        image = self.root / "image"
        image.mkdir(exist_ok=True)
        (image / "pipx").write_text(_PIPX)
        (image / "pipx").chmod(0o755)
        own = [str(self.home / name) for name in (".local/bin", "go/bin")]
        self.path = [*own, str(image), *(one for one in path if not one.startswith(others))]
        self.variables = {}

    def environment(self) -> dict[str, str]:
        return {
            **{key: value for key, value in os.environ.items() if _KEPT.match(key)},
            "PATH": os.pathsep.join(self.path), "HOME": str(self.home), "RUNNER_TEMP": str(self.temp),
            "RUNNER_TOOL_CACHE": str(self.tools), "GITHUB_WORKSPACE": str(self.workspace), "ImageOS": "here",
            "GITHUB_ACTIONS": "true", "CI": "true", **self.variables,
            "POETRY_PYPI_MIRROR_URL": "https://pypi.org/simple/",
            "RUSTUP_HOME": os.environ.get("RUSTUP_HOME") or str(Path.home() / ".rustup"),
            "MAVEN_OPTS": f"-Duser.home={self.home}",  # Java's own is that of the list of users
        }  # fmt: skip

    def shell(self, command: str, minutes: float, **more: str) -> int:
        """Run a step; what it writes to the files of `GITHUB_ENV` and `GITHUB_PATH` is there for the next."""
        files = {name: self.temp / name for name in ("GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT")}
        for file in files.values():
            file.touch()
        with self.log.open("a") as out:
            out.write(f"$ {command}\n")
            out.flush()
            code = subprocess.run(
                ["timeout", "-k", "20", str(round(60 * minutes)), "bash", "-eo", "pipefail", "-c", command],
                cwd=self.workspace, env={**self.environment(), **{k: str(v) for k, v in files.items()}, **more},
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, check=False,
            ).returncode  # fmt: skip
        self.path = [*reversed(files["GITHUB_PATH"].read_text().split()), *self.path]
        lines = files["GITHUB_ENV"].read_text().splitlines()
        self.variables |= dict(line.split("=", 1) for line in lines if "=" in line)
        return code

    def use(self, action: str, given: dict[str, Any], pnpm: str) -> None:
        """Do what stands in for an action."""
        if action == "actions/setup-python":
            self.path.insert(0, str(self._python(str(given.get("python-version") or "3.12")) / "bin"))
        elif action == "actions/setup-node":
            self._node(str(given.get("node-version") or ""))
        elif action in ("pnpm/action-setup", "oven-sh/setup-bun"):
            package = f"pnpm@{given.get('version') or pnpm or 'latest'}" if "pnpm" in action else "bun"
            target = self.home / "setup"
            self.shell(f"npm install -g --silent --allow-scripts=bun --prefix {target} {package}", 5)
            self.path.insert(0, str(target / "bin"))
        elif action == "snok/install-poetry":
            install = f"python -m pip install -q poetry {_POETRY_MIRROR}"
            self.shell(f"{install} && poetry config virtualenvs.in-project true", 5)

    def _node(self, wanted: str) -> None:
        """Put nvm's newest version on the PATH, without what else is installed there, if the one there is too old."""
        shown = subprocess.run(["node", "--version"], check=True, capture_output=True, text=True).stdout
        major = re.match(r"\d+", wanted)
        newest = sorted((Path.home() / ".nvm/versions/node").glob("v*/bin"))[-1:]
        if newest and (not major or int(major[0]) > int(shown[1:].partition(".")[0])):
            target = self.root / "node"
            target.mkdir(exist_ok=True)
            for name in ("node", "npm", "npx"):
                (target / name).unlink(missing_ok=True)
                (target / name).symlink_to((newest[0] / name).resolve())
            self.path.insert(0, str(target))

    def _python(self, wanted: str) -> Path:
        """A copy of an interpreter in the tool cache, of the newest version if the wanted one is not here."""
        versions = sorted((_PYENV / "versions").iterdir(), key=lambda one: [*map(int, one.name.split("."))])
        source = next((one for one in versions if one.name.startswith(wanted.rstrip("x.*"))), versions[-1])
        target = self.tools / "Python" / source.name / "x64"
        if not target.exists():
            shutil.copytree(source, target, symlinks=True)
            for file in (target / "bin").iterdir():
                if (
                    file.is_file()
                    and not file.is_symlink()
                    and (content := file.read_bytes()).startswith(b"#!")
                ):
                    file.write_bytes(content.replace(bytes(source), bytes(target)))
            linked = [
                *(target / "bin").glob("python3.*[0-9]"),
                *target.glob("lib/python3.*/lib-dynload/*.so"),
            ]
            subprocess.run(["patchelf", "--set-rpath", target / "lib", *linked], check=True)
        return target


def prepare(
    runner: Runner, job: dict[str, Any], source: Path, mirror: Path, pnpm: str, minutes: float
) -> tuple[str, Path]:
    """Run the job `prepare`. Returns which step failed, and where what it left is, if it left something."""
    runner.begin()
    with (runner.home / ".gitconfig").open("w") as settings:
        settings.write('[protocol "file"]\n\tallow = always\n')
        for folder in mirror.glob("*+*"):
            url = f"https://github.com/{folder.name.replace('+', '/', 1)}"
            settings.write(f'[url "{folder}/repo"]\n\tinsteadOf = {url}\n\tinsteadOf = {url}.git\n')
    subprocess.run(["git", "clone", "-q", source, runner.workspace], check=True)
    failed = ""
    for step in job["steps"]:
        action = step.get("uses", "").partition("@")[0]
        if action:
            runner.use(action, step.get("with") or {}, pnpm)
        elif not str(step.get("id", "")).startswith(_OWN) and not failed:
            command = f"cd {shlex.quote(step.get('working-directory') or '.')}\n{step['run']}"
            variables = {key: str(value) for key, value in (step.get("env") or {}).items()}
            code = runner.shell(command.replace("${{ github.workspace }}", "$PWD"), minutes, **variables)
            failed = step["name"] if code and not step.get("continue-on-error") else ""
    packed = runner.temp / "slash-agent-environment.tar"
    if not failed:  # else the job ends there
        runner.shell(f"exec {sys.executable} -I {ROOT / '.github/action/keep.py'} {packed}", minutes)
    kept = runner.root / "artifact" / packed.name
    kept.parent.mkdir()
    if packed.exists():
        shutil.move(packed, kept)
    return failed, kept


def run(
    runner: Runner, steps: list[dict[str, Any]], kept: Path, forge: Forge, repo: str, made: tuple[str, str]
) -> dict[str, Any]:
    """Run the jobs `run` and `publish` for a comment. `made` is the file to look at and the change, as a command."""
    runner.begin()
    for step in steps:
        runner.use(step.get("uses", "").partition("@")[0], step.get("with") or {}, "")
    where = {"GITHUB_SERVER_URL": forge.url, "GITHUB_API_URL": forge.api_url, "GITHUB_REPOSITORY": repo}
    variables = {**where, "SLASH_AGENT_PREPARE": "auto", "SLASH_AGENT_MODEL": "anthropic/claude-sonnet-5-5"}
    if kept.exists():
        folder = runner.temp / "slash-agent-environment"
        folder.mkdir()
        shutil.copy(kept, folder)
        digest = hashlib.sha256(kept.read_bytes()).hexdigest()
        variables |= {"SLASH_AGENT_ENVIRONMENT": str(folder), "SLASH_AGENT_ENVIRONMENT_DIGEST": digest}
    issue = forge.create_issue(repo, REPORTER, "Something is wrong", "Please look.")
    event = runner.root / "event.json"
    event.write_text(json.dumps(forge.comment(repo, issue, MAINTAINER, "/agent fix Change one file.")[1]))
    bundle = runner.root / "bundle"
    shutil.rmtree(bundle, ignore_errors=True)
    reads = {"contents": "read", "issues": "write", "actions": "read"}
    writes = {"contents": "write", "issues": "write", "pull_requests": "write"}
    program = f"exec {sys.executable} {HERE / 'private.py'}"
    with ModelServer(script(*made)) as server:
        command = f"{program} run --event-name issue_comment --event {event} --out {bundle}"
        token = forge.token(ACTIONS_BOT, reads, repo=repo)
        code = runner.shell(command, _MINUTES, **variables, **server.environment(), GITHUB_TOKEN=token)
    token = forge.token(ACTIONS_BOT, writes, repo=repo)
    published = runner.shell(f"{program} publish --bundle {bundle}", _MINUTES, **where, GITHUB_TOKEN=token)
    return measured(bundle, runner.log) | {"exit_code": code, "published": published}


def _leave_one_commit(source: Path, commit: str) -> None:
    """Leave the files of `commit` and the name of the newest tag: a snapshot's history may lack large files."""

    def git(*arguments: str, check: bool = True) -> str:
        command = [
            "git",
            "-C",
            str(source),
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.invalid",
            *arguments,
        ]
        return subprocess.run(command, check=check, capture_output=True, text=True).stdout.strip()

    newest = git("describe", "--tags", "--abbrev=0", commit, check=False)
    git("checkout", "-q", "-B", "main", git("commit-tree", "-m", "One commit", f"{commit}^{{tree}}"))
    for ref in git("for-each-ref", "--format=%(refname)").split():
        if ref != "refs/heads/main":
            git("update-ref", "-d", ref)
    if newest:
        git("tag", newest)


def measure(place: Place, mirror: Path, minutes: float) -> str:
    repository, started = place.repository, time.monotonic()
    root = place.root / "actions" / repository.slug
    shutil.rmtree(root, ignore_errors=True)
    log = place.log("actions")
    log.unlink(missing_ok=True)
    source = root / "source"
    subprocess.run(["git", "clone", "-q", mirror / repository.slug / "repo", source], check=True)
    _leave_one_commit(source, repository.commit)
    listed = subprocess.run(["git", "-C", source, "ls-files"], check=True, capture_output=True, text=True)
    files = {name: source / name for name in listed.stdout.splitlines() if (source / name).is_file()}
    text = workflow_text("anthropic", detect(files, lambda name: files[name].read_text(errors="replace")))
    jobs = yaml.safe_load(text)["jobs"]
    manifest = json.loads(files["package.json"].read_text()) if "package.json" in files else {}
    pnpm = str(manifest.get("packageManager", "")).partition("pnpm@")[2].partition("+")[0]
    runner = Runner(root, repository.name.partition("/")[2], log)
    failed, kept = "there is no job `prepare`", root / "none"
    if "prepare" in jobs:
        failed, kept = prepare(runner, jobs["prepare"], source, mirror, pnpm, minutes)
    result: dict[str, Any] = {
        "prepare": failed or "done",
        "MiB": kept.stat().st_size >> 20 if kept.exists() else 0,
    }
    with Forge() as forge:
        for login in (MAINTAINER, REPORTER):
            forge.add_user(login)
        forge.add_organisation(OWNER, members=[MAINTAINER])
        repo = forge.create_repository(OWNER, repository.name.partition("/")[2].lower(), source)
        forge.grant(repo, MAINTAINER, "maintain")
        for kind in ("harmless", "breaking"):
            made = (repository.file, getattr(repository, kind))
            steps = jobs["run"]["steps"] if "run" in jobs else []  # the short workflow calls ours
            result[kind] = run(runner, steps, kept, forge, repo, made)
    place.write("actions", result)
    for folder in (runner.workspace, runner.home, runner.temp, runner.tools, source):
        shutil.rmtree(folder, ignore_errors=True)
    expected = place.read("plain").get("as it is", {}).get("tests")
    counts = "/".join(map(str, counted(expected, result["harmless"])))
    said = f"{verdict(expected, result)}, {counts} of {expected}, prepare: {result['prepare']}, {result['MiB']} MiB"
    return f"{said}, {time.monotonic() - started:.0f} s"


def main() -> int:
    options = options_of(["measure"])
    for row in tomllib.loads(options.list.read_text())["repository"]:
        repository = Repository(**row)
        if not options.only or repository.name in options.only:
            said = measure(Place(repository, options.folder), options.mirror, options.minutes)
            print(f"{repository.name}: {said}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
