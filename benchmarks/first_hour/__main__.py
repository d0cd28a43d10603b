"""python -m benchmarks.first_hour prepare|plain|run|table: measure `fix` in other people's repositories.

`prepare` clones each repository of `repositories.toml` and makes its environment in the shell, as its README says.
`plain` runs its own test command in that shell: as it stands, and with the change that breaks a test. `run` has a
scripted model make a harmless change and then that breaking one with `slash-agent fix`, first with no policy, then with
what `init --yes` wrote. `table` prints the results as Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.first_hour.counts import tests_in
from benchmarks.first_hour.verdict import MODES, read, table, verdict
from tests.support.model_script import Call, Say, Script
from tests.support.model_server import ModelServer

HERE = Path(__file__).parent
_AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@example.invalid")
_HASH_COMMENTS = (".py", ".rb", ".sh", ".yml")


@dataclass(frozen=True, slots=True)
class Repository:
    """A row of the list. `prepare`, `enter` and `test` are shell text; a person types `enter` in each new shell.
    `find` is an extended regular expression; its first match in `file` becomes `replace`, which breaks a test."""

    name: str
    commit: str
    language: str
    prepare: str
    enter: str
    test: str
    file: str = ""
    find: str = ""
    replace: str = ""

    @property
    def slug(self) -> str:
        return self.name.replace("/", "+")

    @property
    def breaking(self) -> str:
        first = rf"0,\~{self.find}~s~~{self.replace}~"  # only the first match
        return shlex.join(["sed", "-i", "-E", first, self.file])

    @property
    def harmless(self) -> str:
        comment = "# A comment." if self.file.endswith(_HASH_COMMENTS) else "/* A comment. */"
        lines = "\\n\\n" if self.file.endswith(".py") else ""  # else a formatter would object, rightly
        return f"printf '{lines}%s\\n' '{comment}' >> {shlex.quote(self.file)}"


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of everything that a repository gets: its checkout, its results and the state of slash-agent."""

    repository: Repository
    root: Path

    @property
    def checkout(self) -> Path:
        return self.root / self.repository.slug

    @property
    def results(self) -> Path:
        return self.root / "results"

    def write(self, kind: str, data: dict[str, Any]) -> None:
        self.results.mkdir(parents=True, exist_ok=True)
        (self.results / f"{self.repository.slug}.{kind}.json").write_text(json.dumps(data, indent=1) + "\n")

    def read(self, kind: str) -> dict[str, Any]:
        return read(self.results, self.repository.slug, kind)

    def log(self, kind: str) -> Path:
        self.results.mkdir(parents=True, exist_ok=True)
        return self.results / f"{self.repository.slug}.{kind}.txt"

    def git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(self.checkout), *arguments], capture_output=True, text=True, check=True
        ).stdout

    def reset(self) -> None:
        """Bring the checkout back to the commit; what git ignores, such as the environment, stays."""
        self.git("checkout", "-q", "-f", "-B", "main", self.repository.commit)

    def shell(self, command: str, log: Path, seconds: float, extra: dict[str, str] | None = None) -> int:
        """Run `command` as a person would in a shell of the checkout; 124 if the time is up."""
        text = "\n".join(filter(None, (self.repository.enter, command)))
        with log.open("a") as out:
            out.write(f"$ {command}\n")
            out.flush()
            return subprocess.run(
                ["timeout", "-k", "20", str(max(1, round(seconds))), "bash", "-c", text],
                cwd=self.checkout, env=_environment() | (extra or {}), stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, check=False,
            ).returncode  # fmt: skip


def main() -> int:
    options = options_of((*_WHAT, "table"))
    repositories = [Repository(**row) for row in tomllib.loads(options.list.read_text())["repository"]]
    if options.what == "table":
        print(table(repositories, options.folder / "results"))
        return 0
    chosen = [one for one in repositories if not options.only or one.name in options.only]
    for number, repository in enumerate(chosen, 1):
        started = time.monotonic()
        said = _WHAT[options.what](Place(repository, options.folder), options)
        print(
            f"{number}/{len(chosen)} {repository.name}: {said}, {time.monotonic() - started:.0f} s",
            flush=True,
        )
    return 0


def options_of(what: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; its first word is one of `what`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=what)
    parser.add_argument("--folder", type=Path, required=True, help="where checkouts and results are kept")
    parser.add_argument("--mirror", type=Path, help="folder with OWNER+NAME/repo, a git repository each")
    parser.add_argument("--list", type=Path, default=HERE / "repositories.toml")
    parser.add_argument("--only", nargs="*", metavar="OWNER/NAME")
    parser.add_argument("--minutes", type=float, default=15, help="limit for each command (default 15)")
    parser.add_argument("--modes", nargs="*", default=MODES, choices=MODES)
    parser.add_argument("--private", action="store_true", help="the registries have private addresses here")
    return parser.parse_args()


def _environment() -> dict[str, str]:
    """The environment of a person's shell: without what this benchmark's own process or a CI sets."""
    own = str(Path(sys.executable).parent)
    path = os.pathsep.join(part for part in os.environ["PATH"].split(os.pathsep) if part != own)
    dropped = ("VIRTUAL_ENV", "CI", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    return {key: value for key, value in os.environ.items() if key not in dropped} | {"PATH": path}


def prepare(place: Place, options: argparse.Namespace) -> str:
    if not place.checkout.exists():
        source = options.mirror / place.repository.slug / "repo"
        place.root.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "-q", str(source), str(place.checkout)], check=True)
    place.reset()
    log = place.log("prepare")
    log.unlink(missing_ok=True)
    code = place.shell(place.repository.prepare, log, options.minutes * 60, {"MIRROR": str(options.mirror)})
    return "prepared" if code == 0 else f"exit code {code}, see {log}"


def plain(place: Place, options: argparse.Namespace) -> str:
    """The project's own tests in the shell: the count, and whether the breaking change makes them fail."""
    place.reset()
    result: dict[str, Any] = {}
    for kind, change in (("as it is", "true"), ("broken", place.repository.breaking)):
        log = place.log(f"plain-{kind.replace(' ', '-')}")
        log.unlink(missing_ok=True)
        started = time.monotonic()
        changed = place.shell(change, log, 60)
        code = place.shell(place.repository.test, log, options.minutes * 60)
        edited = not changed and bool(place.git("diff", "--name-only"))
        result[kind] = {
            "tests": tests_in(log.read_text(errors="replace")), "exit_code": code,
            "seconds": round(time.monotonic() - started), "edited": edited,
        }  # fmt: skip
        place.reset()
    place.write("plain", result)
    return json.dumps(result)


def run(place: Place, options: argparse.Namespace) -> str:
    result = place.read("run")
    for mode in options.modes:
        place.reset()
        shutil.rmtree(place.root / "state" / place.repository.slug, ignore_errors=True)
        log = place.log(mode.replace(" ", "-"))
        log.unlink(missing_ok=True)
        result[mode] = _init(place, log, options) if mode == "init" else {}
        for kind in ("harmless", "breaking"):
            result[mode][kind] = _fix(place, getattr(place.repository, kind), log, options)
        place.write("run", result)
    place.reset()
    expected = place.read("plain").get("as it is", {}).get("tests")
    return "; ".join(f"{mode}: {verdict(expected, result[mode])}" for mode in options.modes)


def _program(options: argparse.Namespace) -> str:
    if options.private:
        return shlex.join([sys.executable, str(HERE / "private.py")])
    return shlex.quote(str(Path(sys.executable).with_name("slash-agent")))


def _state(place: Place) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(place.root / "state" / place.repository.slug)}


def _init(place: Place, log: Path, options: argparse.Namespace) -> dict[str, Any]:
    started = time.monotonic()
    code = place.shell(f"{_program(options)} init --yes", log, options.minutes * 60, _state(place))
    seconds = time.monotonic() - started
    policy = place.checkout / ".github" / "agent.yml"
    text = policy.read_text() if policy.is_file() else ""
    with log.open("a") as out:
        out.write(f"--- policy\n{text}---\n")
    if text:
        place.git("add", "-f", ".github")
        place.git(*_AUTHOR, "commit", "-q", "--no-verify", "-m", "Add the agent")
    return {"init": {"exit_code": code, "seconds": round(seconds, 1), "policy": bool(text)}}


def _fix(place: Place, change: str, log: Path, options: argparse.Namespace) -> dict[str, Any]:
    bundle = place.root / "bundles" / place.repository.slug
    shutil.rmtree(bundle, ignore_errors=True)
    bundle.parent.mkdir(parents=True, exist_ok=True)
    with ModelServer(script(place.repository.file, change)) as server:
        command = [
            *("fix", "--model", "anthropic/claude-sonnet-5-5", "--patch", f"{bundle}.patch"),
            *("--out", str(bundle), "Change one file."),
        ]
        started = time.monotonic_ns()
        code = place.shell(
            f"{_program(options)} {shlex.join(command)}",
            log,
            options.minutes * 60,
            _state(place) | server.environment(),
        )
        ended = time.monotonic_ns()
        requests = list(server.requests)
    result: dict[str, Any] = {"exit_code": code, "seconds": round((ended - started) / 1e9, 1)}
    if len(requests) > 1:
        result["first_tool_result"] = round((requests[1].arrived_ns - started) / 1e9, 1)
    outcome, journal = bundle / "outcome.json", bundle / "journal.jsonl"
    if outcome.is_file() and journal.is_file():
        rest = (ended - requests[-1].answered_ns) / 1e9 - _checking(journal)
        result["last_word_to_result"] = round(rest, 1)
    return result | measured(bundle, log)


def measured(bundle: Path, log: Path) -> dict[str, Any]:
    """What the bundle and the printed headline say; empty without a bundle."""
    if not (bundle / "outcome.json").is_file():
        return {}
    data = json.loads((bundle / "outcome.json").read_text())
    lines = log.read_text(errors="replace").splitlines()
    headlines = [line for line in lines if re.match(r"[✔✘!] .* changed", line)]
    return {
        "stop_reason": data["stop_reason"], "headline": headlines[-1].split(", ", 1)[1] if headlines else "",
        "notes": data["notes"], "checks": [_check(check) for check in data["checks"]],
    }  # fmt: skip


def script(file: str, change: str) -> Script:
    calls = [
        Call("view", {"path": file}, id="call_1"),
        Call("bash", {"command": change}, id="call_2"),
        Call("describe_change", {"title": "Change one file", "summary": "Changes one file."}, id="call_3"),
    ]
    return lambda request: calls[request.number] if request.number < len(calls) else Say("Done.")


def _checking(journal: Path) -> float:
    """Seconds after the model's last response in which a check ran."""
    records = [json.loads(line) for line in journal.read_text(errors="replace").splitlines()]
    reached = max((record["at"] for record in records if record["type"] == "response"), default=0.0)
    spans = sorted(
        (record["at"] - record["run"].get("duration", 0), record["at"])
        for record in records
        if record["type"] == "check"
    )
    total = 0.0
    for start, end in spans:
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def _check(check: dict[str, Any]) -> dict[str, Any]:
    sides = {}
    for side in ("before", "after"):
        if ran := check.get(side):
            counts = (check.get("tests") or {}).get(side)
            tests = sum(counts.values()) if counts else 0
            sides[side] = {
                "state": ran["state"],
                "tests": tests or tests_in(ran["tail"]),
                "note": ran["note"],
            }
    return {"command": check["command"], "related": bool(check.get("related")), **sides}


_WHAT = {"prepare": prepare, "plain": plain, "run": run}

if __name__ == "__main__":
    raise SystemExit(main())
