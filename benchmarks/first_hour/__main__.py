"""python -m benchmarks.first_hour count|run|table: measure `init --yes` and `fix` on repositories of others.

`count` runs each repository's own CI command outside the sandbox and writes down how many tests it runs. `run` clones
each, runs `init --yes`, commits, runs `fix` with a scripted model that adds a comment, and compares the number of tests
that the outcome reports, before and after, with that of CI's command. `table` prints the results as Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.first_hour.counts import tests_in
from tests.support.model_script import Call, Say, ScriptRequest, Step
from tests.support.model_server import ModelServer

HERE = Path(__file__).parent
COMMAND = str(Path(sys.executable).with_name("slash-agent"))
MODEL = "anthropic/claude-sonnet-5-5"
NEAR = 0.05
_AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@example.invalid")
_COMMENTS = {
    "Python": "# {}", "C": "/* {} */", "JavaScript": "// {}", "TypeScript": "// {}", "Go": "// {}", "Rust": "// {}",
    "Java": "// {}",
}  # fmt: skip
_SUFFIXES = {
    "Python": (".py",), "JavaScript": (".js", ".ts"), "TypeScript": (".ts",), "Go": (".go",), "Rust": (".rs",),
    "Java": (".java",), "C": (".c", ".h"),
}  # fmt: skip
_NO_SOURCE = (
    "test",
    "example",
    "doc",
    "bench",
    "fuzz",
    "script",
    "setup.py",
    "conftest",
    "config",
    ".d.ts",
    "noxfile",
)
_LIMIT = 1800


def main() -> int:
    options = _options()
    entries: list[dict[str, Any]] = json.loads(options.list.read_text())
    if options.what == "table":
        print(table(entries, options.results))
        return 0
    options.results.mkdir(parents=True, exist_ok=True)
    options.work.mkdir(parents=True, exist_ok=True)
    chosen = [one for one in entries if not options.only or one["repository"] in options.only]
    one = partial(count if options.what == "count" else measure, options=options)
    with ThreadPoolExecutor(options.jobs) as pool:
        for entry, result in zip(chosen, pool.map(one, chosen), strict=True):
            print(entry["repository"], json.dumps(result)[:300], flush=True)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_hour", description=__doc__)
    parser.add_argument("what", choices=("count", "run", "table"))
    parser.add_argument("--list", type=Path, default=HERE / "thirty.json")
    parser.add_argument("--mirror", type=Path, help="folder with OWNER+NAME/repo, a git directory each")
    parser.add_argument("--work", type=Path, default=Path("/tmp/first-hour"))
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--only", nargs="*", metavar="OWNER/NAME")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--init", nargs="*", default=[], metavar="OPTION", help="further options of init, without dashes"
    )
    parser.add_argument("--private", action="store_true", help="the registries have private addresses here")
    return parser.parse_args()


def clone(entry: dict[str, Any], options: argparse.Namespace, kind: str) -> Path:
    """The repository at its commit, on `main`; without the files whose content the mirror does not have."""
    folder: Path = options.work / kind / entry["repository"].replace("/", "+")
    shutil.rmtree(folder, ignore_errors=True)
    source = options.mirror / entry["repository"].replace("/", "+") / "repo"
    subprocess.run(["git", "clone", "-q", "--no-checkout", str(source), str(folder)], check=True)
    _git(folder, "read-tree", entry["commit"])
    for line in _git(folder, "ls-files", "-s", "-z").split("\0")[:-1]:
        mode, blob, path = line.split("\t")[0].split()[0], line.split()[1], line.split("\t")[1]
        if mode != "160000" and not _has(folder, blob):
            print(entry["repository"], "without", path, flush=True)
            _git(folder, "rm", "-q", "--cached", path)
    if _git(folder, "write-tree").strip() == _git(folder, "rev-parse", f"{entry['commit']}^{{tree}}").strip():
        _git(folder, "checkout", "-q", "-B", "main", entry["commit"])
    else:
        _git(folder, "checkout", "-q", "--orphan", "main")
        _git(folder, *_AUTHOR, "commit", "-q", "-m", f"{entry['commit']}, as far as the mirror has it")
    _git(folder, "reset", "-q", "--hard")
    return folder


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True
    ).stdout


def _has(folder: Path, blob: str) -> bool:
    command = ["git", "-C", str(folder), "cat-file", "-e", blob]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def count(entry: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """CI's own command outside the sandbox."""
    folder = clone(entry, options, "count")
    log = options.results / f"{folder.name}.count.txt"
    started = time.monotonic()
    with log.open("w") as out:
        for key in ("prepare", "test"):
            completed = _shell(entry[key], folder, out)
            out.write(f"\n[{key}: exit code {completed}, {time.monotonic() - started:.0f} s]\n")
    tests = tests_in(log.read_text(errors="replace"))
    result = {"tests": tests, "exit_code": completed, "seconds": round(time.monotonic() - started)}
    (options.results / f"{folder.name}.count.json").write_text(json.dumps(result))
    shutil.rmtree(folder, ignore_errors=True)
    return result


def _shell(command: str, folder: Path, out: Any) -> int:
    try:
        return subprocess.run(
            ["bash", "-c", command], cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
            env={**os.environ, "CI": "1"}, timeout=_LIMIT, check=False,
        ).returncode  # fmt: skip
    except subprocess.TimeoutExpired:
        return -1


def measure(entry: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """`init --yes`, a commit, `fix`; what the outcome says of the project's tests."""
    folder = clone(entry, options, "run")
    name, started = folder.name, time.monotonic()
    home = options.work / "state" / name
    shutil.rmtree(home, ignore_errors=True)
    environment = {**os.environ, "XDG_STATE_HOME": str(home)}
    result: dict[str, Any] = {"repository": entry["repository"], "language": entry["language"]}
    program = [sys.executable, "-m", "benchmarks.first_hour.private"] if options.private else [COMMAND]
    environment["PYTHONPATH"] = str(HERE.parents[1])
    extra = [f"--{option}" for option in options.init]
    log = options.results / f"{name}.log.txt"
    with log.open("w") as out:
        code = _run([*program, "init", "--repo", str(folder), "--yes", *extra], environment, out)
        result |= {"init": code, "init_seconds": round(time.monotonic() - started)}
        policy = folder / ".github" / "agent.yml"
        out.write(f"\n--- policy\n{policy.read_text() if policy.is_file() else 'none'}\n---\n")
        out.flush()
        _commit(folder)
        started = time.monotonic()
        bundle = options.work / "bundle" / name
        shutil.rmtree(bundle, ignore_errors=True)
        with ModelServer(_one_comment(folder, entry["language"])) as server:
            argv = [
                *program,
                "fix",
                "--repo",
                str(folder),
                "--model",
                MODEL,
                "--out",
                str(bundle),
                "Add a comment.",
            ]
            code = _run(argv, environment | server.environment(), out)
        result |= {"fix": code, "fix_seconds": round(time.monotonic() - started)}
    result |= verdict(entry, bundle / "outcome.json")
    (options.results / f"{name}.json").write_text(json.dumps(result, indent=1))
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(home, ignore_errors=True)
    return result


def _run(argv: list[str], environment: dict[str, str], out: Any) -> int:
    out.write(f"$ {' '.join(argv)}\n")
    out.flush()
    try:
        return subprocess.run(
            argv, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
            timeout=_LIMIT, check=False,
        ).returncode  # fmt: skip
    except subprocess.TimeoutExpired:
        return -1


def _commit(folder: Path) -> None:
    _git(folder, "add", ".github")
    _git(folder, *_AUTHOR, "commit", "-q", "--allow-empty", "-m", "Add the agent")


def _one_comment(folder: Path, language: str) -> Any:
    """A model that appends one comment to the largest source file under 100 kB."""
    listed = subprocess.run(
        ["git", "-C", str(folder), "ls-files"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    sources = [
        path
        for path in listed
        if path.endswith(_SUFFIXES[language])
        and not any(word in path.lower() for word in _NO_SOURCE)
        and (folder / path).stat().st_size < 100_000
    ]
    path = max(sources, key=lambda one: (folder / one).stat().st_size)
    comment = _COMMENTS[language].format("A comment.")
    command = f"printf '%s\\n' '{comment}' >> '{path}'"
    calls = [
        Call("bash", {"command": command}, id="call_1"),
        Call("describe_change", {"title": "Add a comment", "summary": "Adds one comment."}, id="call_2"),
    ]

    def step(request: ScriptRequest) -> Step:
        return calls[request.number] if request.number < len(calls) else Say("Done.")

    return step


def verdict(entry: dict[str, Any], file: Path) -> dict[str, Any]:
    """Whether a check ran as many tests as CI's command, within 5 %, before and after the change."""
    if not file.is_file():
        return {"ok": False, "why": "no outcome"}
    checks = json.loads(file.read_text()).get("checks", [])
    ran = [
        {
            "command": check["command"],
            **{
                side: {
                    "state": check[side]["state"],
                    "tests": _count(check, side),
                    "note": check[side]["note"],
                }
                for side in ("before", "after")
                if check.get(side)
            },
        }
        for check in checks
    ]
    return {**_compared(entry, ran), "checks": ran}


def _compared(entry: dict[str, Any], ran: list[dict[str, Any]]) -> dict[str, Any]:
    expected = entry["tests"] or 0
    least = max(map(_least, ran), default=0)
    ok = bool(expected) and abs(least - expected) <= NEAR * expected
    return {"ok": ok, "tests": least, "expected": expected}


def _least(check: dict[str, Any]) -> int:
    return min((check.get(side, {}).get("tests") or 0) for side in ("before", "after"))


def _count(check: dict[str, Any], side: str) -> int:
    counts = (check.get("tests") or {}).get(side)
    named = sum(counts.values()) if counts else 0
    return named or tests_in(check[side]["tail"]) or 0


def table(entries: list[dict[str, Any]], results: Path) -> str:
    """Markdown: what CI's command ran, what the check ran before and after, and why a repository does not count."""
    lines = [
        "| repository | language | CI's tests | the check's | counts | note |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for entry in entries:
        file = results / f"{entry['repository'].replace('/', '+')}.json"
        result = json.loads(file.read_text()) if file.is_file() else {}
        if "checks" in result:  # with the count of today's list
            result |= _compared(entry, result["checks"])
        verdict = ("yes" if result["ok"] else "no") if result else "not measured"
        tests = result.get("tests", "") if result else ""
        note = entry.get("note") or result.get("why", "")
        lines.append(
            f"| {entry['repository']} | {entry['language']} | {entry['tests'] or '?'} | {tests} | {verdict} | {note} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
