"""docs/troubleshooting.md: each message is one that the program prints, word for word."""

import ast
import os
import re
from pathlib import Path

import pytest

from bot.contracts.errors import ExitCode
from tests.session.conftest import command
from tests.support import warm
from tests.support.repositories import git, sample_repository

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()
MESSAGES = re.findall(r"^\| (`+)(.+?)\1 \|", PAGE, re.MULTILINE)


def printed() -> tuple[str, ...]:
    """Each text of several words in the program's source, with `…` for each value that is filled in."""
    files = [*(ROOT / "bot").rglob("*.py"), ROOT / ".github" / "action" / "admission.py"]
    nodes = (node for file in files for node in ast.walk(ast.parse(file.read_text())))
    return tuple({text for node in nodes if " " in (text := _text(node))})


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "…" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def pattern(message: str) -> re.Pattern[str]:
    fixed = message.strip().removeprefix("not verified: ").split("…")
    return re.compile(".*".join(re.escape(part.strip()) for part in fixed), re.IGNORECASE | re.DOTALL)


def test_each_message_is_in_the_program():
    assert len(MESSAGES) > 60
    texts = printed()
    assert [message for _, message in MESSAGES if not any(map(pattern(message).search, texts))] == []


def test_each_exit_code_exists():
    assert {int(code) for code in re.findall(r"exit code (\d+)", PAGE)} <= set(ExitCode)


@pytest.mark.parametrize(
    ("line", "environment", "begins"),
    [
        ("fix words", {}, "No model is configured"),
        ("fix --repo .. words", {}, "is not in a git repository"),
        ("fix --repo ../empty words", {"OPENAI_API_KEY": "x"}, "has no commits yet"),
        ("fix --model claude words", {}, "--model takes provider/name"),
        ("fix --model nobody/claude words", {}, "There is no provider"),
        ("fix words", {"PATH": "/nowhere"}, "git is not installed"),
        ("run --sandbox off", {"GITHUB_ACTIONS": "true"}, "is for a person"),
        ("policy check wrong.yml", {}, "unknown key"),
    ],
)
def test_a_command_prints_it(line: str, environment: dict[str, str], begins: str, tmp_path: Path):
    repo = sample_repository(tmp_path / "tidytime")
    (repo / "wrong.yml").write_text("version: 1\nchekcs: [make]\n")
    (tmp_path / "empty").mkdir()
    git(tmp_path / "empty", "init", "--quiet")
    [message] = [message for _, message in MESSAGES if message.startswith(begins)]
    variables = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **environment}
    done = warm.run(command(*line.split()), variables, repo)
    assert pattern(message).search(done.stdout + done.stderr)


# Forms for complaints


ROWS = re.findall(
    r"^\| (\d+) \|.*\| `(tests/\S+\.py)::(test_\w+)` \|$",
    (ROOT / "docs" / "complaints.md").read_text(),
    re.MULTILINE,
)


def test_there_are_twenty():
    assert [int(number) for number, _, _ in ROWS] == list(range(1, 21))


def test_each_names_a_test_that_is_there():
    missing = [
        f"{file}::{name}"
        for _, file, name in ROWS
        if not re.search(rf"^def {name}\(", (ROOT / file).read_text(), re.MULTILINE)
    ]
    assert missing == []
