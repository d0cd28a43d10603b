"""A workspace's context on a real folder, without a process around it: the tools are called as the host does."""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from bot.contracts.tools import Answer, ToolFailure, ToolOutcome
from bot.toolhost.context import Context, Records
from tests.support.files import write_file
from tests.support.repositories import git


@dataclass
class Bench:
    """`ask` may be replaced; `questions` are those that were asked."""

    context: Context
    questions: list[tuple[str, list[tuple[str, str]], str]] = field(default_factory=list)
    answer: Callable[[], Answer] = lambda: Answer(True)

    @property
    def root(self) -> Path:
        return self.context.root

    def write(self, name: str, content: str | bytes = "") -> Path:
        path = self.root / name
        write_file(path, content if isinstance(content, bytes) else content.encode())
        return path

    def call(self, tool: str, **arguments: Any) -> ToolOutcome:
        outcome: ToolOutcome = import_module(f"bot.toolhost.tools.{tool}").run(self.context, **arguments)
        return outcome

    def text(self, tool: str, **arguments: Any) -> str:
        return self.call(tool, **arguments).content

    def refusal(self, tool: str, **arguments: Any) -> str:
        """The message of a call that must fail."""
        with pytest.raises(ToolFailure) as caught:
            self.call(tool, **arguments)
        return str(caught.value)

    def git(self, *arguments: str, cwd: Path | None = None) -> None:
        git(cwd or self.root, *arguments)

    def commit_all(self) -> None:
        if not (self.root / ".git").exists():
            self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "base")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    for name in ("tree", "tmp", "spill"):
        (tmp_path / name).mkdir()
    made = Bench(
        Context(
            root=tmp_path / "tree",
            tmp=tmp_path / "tmp",
            spill=tmp_path / "spill",
            environment={},
            ask=lambda *question: made.questions.append(question) or made.answer(),
            records=Records(),
        )
    )
    return made


@pytest.fixture
def without_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine that has no git program."""
    monkeypatch.setenv("PATH", str(tmp_path))
