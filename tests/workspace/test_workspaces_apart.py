"""Two workspaces in one process share nothing: what one has seen, where its shell stands, what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from bot.contracts.cancel import CancelToken
from bot.contracts.tools import ToolOutcome
from bot.workspace.client import Answer, Question, Workspace
from tests.support.workspaces import Bench, bash, make_tree

EDIT = {"path": "a.py", "old": "1", "new": "2"}


def call(workspace: Workspace, tool: str, **arguments: object) -> ToolOutcome:
    return workspace.call(tool, arguments, CancelToken())


def test_each_has_its_own_shell_questions_and_cancel(tmp_path: Path) -> None:
    asked: dict[str, list[str]] = {"one": [], "two": []}

    def asking(name: str) -> Callable[[Question], Answer]:
        def answer(question: Question) -> Answer:
            asked[name].append(question.tool)
            return Answer(True)

        return answer

    trees = {name: make_tree(tmp_path / name, {"sub/a.txt": "x\n"}) for name in asked}
    benches = {name: Bench(tmp_path / f"of-{name}", tree) for name, tree in trees.items()}
    try:
        for bench in benches.values():
            bench.folder.mkdir()
        one, two = (benches[name].start(ask=asking(name)) for name in asked)
        assert not bash(one, "cd sub").is_error
        assert "sub" not in bash(two, "pwd").content.rpartition("/")[2]
        stopped = CancelToken()
        slow = threading.Thread(target=lambda: one.call("bash", {"command": "sleep 300"}, stopped))
        slow.start()
        assert not call(two, "write", path="new.txt", content="of two\n").is_error
        stopped.fire("signal")
        slow.join(timeout=120)
        assert not slow.is_alive()
        assert "still here" in bash(two, "echo still here").content
        assert asked == {"one": [], "two": ["write"]}
        assert not (trees["one"] / "new.txt").exists()
    finally:
        for bench in benches.values():
            bench.close()
