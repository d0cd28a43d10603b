"""Two sessions in one process share nothing: run side by side, each is as it is alone."""

import threading
from pathlib import Path
from typing import Any

from bot.agent.journal import read_journal
from bot.agent.todo_list import Todo
from bot.contracts.cancel import CancelToken
from bot.contracts.journal import BudgetChanged
from bot.contracts.messages import Usage
from bot.contracts.tools import ToolOutcome
from tests.support.scripted import call, says
from tests.support.sessions import Bench

TURNS = 6


def bench(folder: Path, name: str, meet: threading.Barrier, usage: Usage) -> Bench:
    """A session whose every call waits until the other session is in a call, too. Both use the same ids and names."""
    folder.mkdir()
    todo = Todo()

    def together(arguments: Any, cancel: CancelToken) -> ToolOutcome:
        meet.wait(timeout=120)
        mine = todo({"items": [*({"text": i.text, "status": "pending"} for i in todo.items),
                               {"text": name, "status": "pending"}]}, cancel)  # fmt: skip
        return ToolOutcome(f"{name}: {mine.content}", metadata={"path": f"{name}.py"})

    script = [says(f"{name} {n}", call("meet", f'{{"n": {n}}}', f"c{n}"), usage=usage) for n in range(TURNS)]
    return Bench([*script, says(f"{name} is done")], folder, tools={"meet": together})


def side_by_side(tmp_path: Path) -> list[tuple[Bench, Any]]:
    meet = threading.Barrier(2)
    north = bench(tmp_path / "north", "north", meet, Usage(10, 0, 0, 5))
    south = bench(tmp_path / "south", "south", meet, Usage(1000, 7, 0, 3))
    ends: dict[str, Any] = {}
    threads = [
        threading.Thread(target=lambda name=name, here=here: ends.update({name: here.run(f"do {name}")}))
        for name, here in (("north", north), ("south", south))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=300)
    return [(north, ends["north"]), (south, ends["south"])]


def test_two_sessions_side_by_side_are_each_as_if_alone(tmp_path: Path):
    (north, first), (south, second) = side_by_side(tmp_path)
    assert (first.final_text, second.final_text) == ("north is done", "south is done")
    assert (first.usage, second.usage) == (Usage(70, 0, 0, 35), Usage(6010, 42, 0, 23))
    assert (first.files.read, second.files.read) == (("north.py",), ("south.py",))
    for here, other in ((north, "south"), (south, "north")):
        assert other not in here.path.read_text("utf-8")
        assert not any(other in str(message) for request in here.provider.requests for message in request)
        assert [line.turn for line in read_journal(here.path).records(BudgetChanged)] == list(
            range(1, TURNS + 2)
        )
