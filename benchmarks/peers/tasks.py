"""Real bugs of public repositories, each with the looks, edits and commands by which a scripted model mends it.

The edits are the repository's own fix, read from its history; nothing of it is kept here.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.session import ROOT

CACHE = ROOT / ".cache" / "tasks"


@dataclass(frozen=True)
class Grep:
    pattern: str
    path: str


@dataclass(frozen=True)
class View:
    """Lines `first` to `last` of a file, both included."""

    path: str
    first: int
    last: int


@dataclass(frozen=True)
class Run:
    command: str


@dataclass(frozen=True)
class Change:
    """The part of the repository's own fix that touches `path`."""

    path: str


Step = Grep | View | Run | Change


@dataclass(frozen=True)
class Answer:
    """One answer of the model: a sentence and some calls."""

    sentence: str
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Task:
    """`fix` is the commit that mends it; its parent is what the agents start from, of which only `paths` are taken.
    `packages` are installed into `.venv`; without any, `prepare` is a command that leaves the folder `installed`. The
    command `test` shows the fix, `summary` is the model's own words on it."""

    name: str
    repository: str
    fix: str
    request: str
    paths: tuple[str, ...]
    packages: tuple[str, ...]
    test: str
    answers: tuple[Answer, ...]
    title: str
    summary: str
    prepare: str = ""
    installed: str = ".venv"


def checkout(task: Task, folder: Path) -> Path:
    """A repository of one commit in `folder`: the task's files, its environment, and a policy whose check is the task's
    test. Raises `subprocess.CalledProcessError`."""
    _unpack(task, folder)
    # As hard links, without those files that are there.
    command = ["cp", "-a", "--link", "--no-clobber", f"{_environment(task)}/.", str(folder)]
    subprocess.run(command, check=True)
    policy = folder / ".github" / "agent.yml"
    policy.parent.mkdir(exist_ok=True)
    policy.write_text(f"bring: [{task.installed}]\nchecks:\n  - name: tests\n    command: {task.test}\n")
    who = ["-c", "user.name=bench", "-c", "user.email=bench@example.invalid"]
    _git(folder, "init", "-q", "-b", "main")
    (folder / ".git" / "info" / "exclude").write_text(f"/{task.installed}\n")
    _git(folder, "add", "-A")
    _git(folder, *who, "commit", "-q", "-m", "Start")
    return folder


def _unpack(task: Task, folder: Path) -> None:
    folder.mkdir(parents=True)
    archive = _git(_clone(task), "archive", f"{task.fix}~1", "--", *task.paths)
    subprocess.run(["tar", "-x"], cwd=folder, input=archive, check=True)


def fix_of(task: Task, path: str) -> str:
    """The fix's unified diff of one file."""
    return _git(_clone(task), "show", "--format=", task.fix, "--", path).decode()


def _clone(task: Task) -> Path:
    """A bare clone, made once. A clone that lies there already is taken as it is."""
    folder = CACHE / task.repository.replace("/", "+")
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        url = f"https://github.com/{task.repository}"
        subprocess.run(["git", "clone", "--quiet", "--bare", url, str(folder)], check=True)
    return folder


def _environment(task: Task) -> Path:
    """A folder with what is installed for the task, made once."""
    folder = CACHE / f"{task.name}-environment"
    if folder.exists():
        return folder
    if task.prepare:
        _unpack(task, folder)
        subprocess.run(["sh", "-ec", task.prepare], cwd=folder, check=True)
        return folder
    uv = str(Path(sys.executable).with_name("uv"))
    python = str(folder / task.installed / "bin" / "python")
    subprocess.run(
        [uv, "venv", "--quiet", "--relocatable", "--python", sys.executable, folder / task.installed],
        check=True,
    )
    subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *task.packages], check=True)
    return folder


def _git(folder: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True).stdout


_PYDANTIC_PACKAGES: Sequence[str] = (
    "anyio", "dirty-equals", "httpx", "inline-snapshot", "logfire", "pydantic-ai-slim", "pydantic-evals", "pytest",
    "pytest-mock", "pytest-recording", "pyyaml", "vcrpy",
)  # fmt: skip
_PYDANTIC_PYTHON = "env PYTHONPATH=pydantic_evals:pydantic_graph:pydantic_ai_slim .venv/bin/python"

LLM = Task(
    name="llm",
    repository="simonw/llm",
    fix="6afc1c494bfa2ef1d9d3b304b0496432a1a8f0fa",
    request=(
        "response.reply() with tool results that hold attachments loses them: adapters only send "
        "ToolResultPart.output. They must become a user message with AttachmentParts, as in chains. Sync and async."
    ),
    paths=(".",),
    packages=(
        "click", "click-default-group", "condense-json", "llm-echo==0.3a3", "numpy", "openai", "pip", "pluggy",
        "puremagic", "pydantic", "pytest", "pytest-asyncio", "pytest-httpx", "pytest-recording", "python-ulid",
        "PyYAML", "setuptools", "sqlite-utils", "syrupy",
    ),
    test=".venv/bin/python -m pytest -q tests/test_parts.py",
    answers=(
        Answer(
            "I look at the repository and at what builds the chain.",
            (Run("ls"), Grep("_append_tool_results_to_chain|def reply|ToolResultPart\\(", "llm")),
        ),
        Answer("Both reply methods.", (View("llm/models.py", 1600, 1700), View("llm/models.py", 1975, 2060))),
        Answer("How chains do it.", (View("llm/models.py", 2560, 2625), View("llm/models.py", 2715, 2765))),
        Answer("What a part holds.", (View("llm/parts.py", 1, 150), View("llm/models.py", 480, 620))),
        Answer("The tests of reply.", (Grep("def test_.*reply|class TestResponseReply", "tests/test_parts.py"),)),
        Answer("Their shape.", (View("tests/test_parts.py", 1370, 1500),)),
        Answer("The tests as they are.", (Run(".venv/bin/python -m pytest -q tests/test_parts.py 2>&1 | tail -5"),)),
        Answer("I use the helper of the chains in both methods.", (Change("llm/models.py"),)),
        Answer("And two tests.", (Change("tests/test_parts.py"),)),
        Answer("The tests.", (Run(".venv/bin/python -m pytest -q tests/test_parts.py"),)),
        Answer("The change as a whole.", (Run("git status --short && git diff --stat"),)),
    ),
    title="Keep attachments of tool results in response.reply()",
    summary=(
        "reply() put attachments into ToolResultPart, which adapters do not send. It now uses the helper of the "
        "chains, so that they follow as a user message. Tests for the sync and the async method; test_parts.py passes."
    ),
)  # fmt: skip

TOMLKIT = Task(
    name="tomlkit",
    repository="python-poetry/tomlkit",
    fix="e23a25438c6cc9b8cc28b6dcf76dc52f9c7a33e3",
    request=(
        "Adding a plain key to an out-of-order table whose concrete [x] part stands after its sub-tables writes a "
        'second [x] header, and the result does not parse: doc = parse("[x.y.z.w]\\n\\n[x]\\n"); doc["x"]["c"] = 3.'
    ),
    paths=(".",),
    packages=("pytest", "pyyaml"),
    test=".venv/bin/python -m pytest -q tests/test_toml_document.py",
    answers=(
        Answer("I look at the repository and at the proxy.", (Run("ls"), Grep("OutOfOrderTableProxy", "tomlkit"))),
        Answer("The proxy.", (View("tomlkit/container.py", 1030, 1150), View("tomlkit/container.py", 1150, 1250))),
        Answer(
            "I reproduce it.",
            (Run(".venv/bin/python -c 'from tomlkit import parse; doc = parse(\"[x.y.z.w]\\n\\n[x]\\n\"); "
                 "doc[\"x\"][\"c\"] = 3; print(doc.as_string()); parse(doc.as_string())'"),),
        ),
        Answer("What a super table is.", (Grep("is_super_table", "tomlkit"), View("tomlkit/items.py", 1690, 1800))),
        Answer("How it is kept.", (View("tomlkit/container.py", 60, 180), View("tomlkit/container.py", 520, 660))),
        Answer("I prefer the part that has a header.", (Change("tomlkit/container.py"),)),
        Answer("The tests of such tables.", (Grep("out_of_order", "tests/test_toml_document.py"),)),
        Answer("Their shape.", (View("tests/test_toml_document.py", 600, 680), View("CHANGELOG.md", 1, 40))),
        Answer("A test and a line.", (Change("tests/test_toml_document.py"), Change("CHANGELOG.md"))),
        Answer("The tests.", (Run(".venv/bin/python -m pytest -q tests/test_toml_document.py"),)),
        Answer("The change as a whole.", (Run("git status --short && git diff --stat"),)),
    ),
    title="Do not write a second header for an out-of-order table",
    summary=(
        "A new key went into the header-less super part, which then rendered a second header. It goes into the part "
        "that has one. With a test; test_toml_document.py passes."
    ),
)  # fmt: skip

SPANS = Task(
    name="pydantic-ai spans",
    repository="pydantic/pydantic-ai",
    fix="e3b8e52cebb596a5db74f76bbdf3622aa99faa29",
    request=(
        "SpanQuery's has_attributes never matches dict and list values: Logfire stores them as JSON strings, and the "
        "OTel SDK stores sequences as tuples. A query with a dict or a list should match those."
    ),
    paths=(
        "pydantic_evals", "pydantic_graph", "pydantic_ai_slim", "agent_docs", "tests/evals", "tests/__init__.py",
        "tests/conftest.py", "tests/cassette_utils.py", "tests/_inline_snapshot.py", "AGENTS.md", "CLAUDE.md",
        ".agents", ".claude", ".gitignore", "pyproject.toml", "README.md",
    ),
    packages=tuple(_PYDANTIC_PACKAGES),
    test=f"{_PYDANTIC_PYTHON} -m pytest -q tests/evals/test_otel.py",
    answers=(
        Answer("I look at the repository and for the query.", (Run("ls"), Grep("has_attributes", "pydantic_evals"))),
        Answer(
            "The query and how it is matched.",
            (View("pydantic_evals/pydantic_evals/otel/span_tree.py", 1, 110),
             View("pydantic_evals/pydantic_evals/otel/span_tree.py", 225, 345)),
        ),
        Answer(
            "The rest of the file.",
            (
                View("pydantic_evals/pydantic_evals/otel/span_tree.py", 110, 225),
                View("pydantic_evals/pydantic_evals/otel/span_tree.py", 345, 480),
            ),
        ),
        Answer("The tests.", (Grep("has_attributes", "tests/evals"), View("tests/evals/test_otel.py", 1, 35))),
        Answer("Their shape.", (View("tests/evals/test_otel.py", 190, 240),)),
        Answer("The tests as they are.", (Run(f"{_PYDANTIC_PYTHON} -m pytest -q tests/evals/test_otel.py"),)),
        Answer("I compare JSON strings and tuples too.", (Change("pydantic_evals/pydantic_evals/otel/span_tree.py"),)),
        Answer("And tests.", (Change("tests/evals/test_otel.py"),)),
        Answer("The tests.", (Run(f"{_PYDANTIC_PYTHON} -m pytest -q tests/evals/test_otel.py"),)),
        Answer("The change as a whole.", (Run("git status --short && git diff --stat"),)),
    ),
    title="Match dict and list values in SpanQuery's has_attributes",
    summary=(
        "has_attributes compared with equality only. A dict or list now also matches its JSON serialization, a list "
        "also a tuple. With tests; test_otel.py passes."
    ),
)  # fmt: skip

_SSRF, _SSRF_TESTS = "pydantic_ai_slim/pydantic_ai/_ssrf.py", "tests/test_ssrf.py"

GZIP = Task(
    name="pydantic-ai gzip",
    repository="pydantic/pydantic-ai",
    fix="02aa79858ca9496e86245388e7a6c4f84ccdfd36",
    request=(
        "safe_download cuts gzip response bodies short without an error: of several members only the first is decoded, "
        "and a body that ends early is taken as whole. Decode all members, and raise httpx.DecodingError for the rest."
    ),
    paths=(*SPANS.paths[:3], _SSRF_TESTS, *SPANS.paths[5:]),
    packages=tuple(_PYDANTIC_PACKAGES),
    test=f"{_PYDANTIC_PYTHON} -m pytest -q {_SSRF_TESTS}",
    answers=(
        Answer("I look around, and for gzip.", (Run("ls"), Grep("gzip|zlib", "pydantic_ai_slim/pydantic_ai"))),
        Answer("The download.", (View(_SSRF, 477, 640), View(_SSRF, 636, 705))),
        Answer("Its names and imports.", (View(_SSRF, 1, 40), Grep("safe_download\\(", "pydantic_ai_slim"))),
        Answer("The tests.", (Grep("gzip|zlib", _SSRF_TESTS), View(_SSRF_TESTS, 1, 58))),
        Answer("Their shape.", (View(_SSRF_TESTS, 590, 640), View(_SSRF_TESTS, 735, 915))),
        Answer("The tests of redirects.", (View(_SSRF_TESTS, 1095, 1130),)),
        Answer("The tests as they are.", (Run(f"{_PYDANTIC_PYTHON} -m pytest -q {_SSRF_TESTS}"),)),
        Answer("I decode member by member.", (Change(_SSRF),)),
        Answer("And tests.", (Change(_SSRF_TESTS),)),
        Answer("The tests.", (Run(f"{_PYDANTIC_PYTHON} -m pytest -q {_SSRF_TESTS}"),)),
        Answer("The change as a whole.", (Run("git status --short && git diff --stat"),)),
    ),
    title="Decode all gzip members of a downloaded body",
    summary=(
        "The response was decoded by httpx, which stops after the first member. The raw body is now read and decoded "
        "member by member, and an incomplete or damaged one raises DecodingError. With tests; test_ssrf.py passes."
    ),
)  # fmt: skip

TASKS = (LLM, TOMLKIT, SPANS, GZIP)
