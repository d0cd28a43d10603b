"""How long the page of a run takes: to be made from the journal, and to be opened in Chromium."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.table import Row
from bot.contracts import journal as lines
from bot.contracts.journal import Record
from bot.contracts.messages import Text, ToolCall, Usage
from bot.report.page import render_page
from tests.support.report_runs import INFO, call_records, edit_metadata, write

if TYPE_CHECKING:
    from playwright.sync_api import Browser

OPENED_MS: Mapping[int, float] = {200: 1000.0, 2000: 3000.0}
MADE_MS: Mapping[int, float] = {200: 1000.0, 2000: 10_000.0}
"""The latter is our own: a run must not wait for its page."""

_MOST_STEPS = 1_000
"""The page of a long run has its first and last steps."""
_DRAWN = (
    "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done([performance.now(), "
    "document.querySelectorAll('.step').length]))))"
)


def pages(folder: Path, scale: Mapping[int, int], runs: int) -> Iterator[Row]:
    """`scale` has the turns of the target to those that are really made."""
    from tests.support.browser import chromium

    folder.mkdir()
    with chromium() as browser:
        for turns, real in scale.items():
            journal = _journal(folder / f"{turns}.jsonl", real)
            page = folder / f"{turns}.html"
            made = _made(journal, page, max(1, runs // 2))
            size = f"{page.stat().st_size / 1e6:.1f} MB"
            yield _row(
                f"page of {turns:,} turns made",
                made,
                size,
                f"at most {MADE_MS[turns]:.0f} ms of CPU",
                MADE_MS[turns],
            )
            opened, cpu = _opened(browser, page, max(1, runs), real)
            beside = f"{cpu:.0f} ms of CPU"
            yield _row(
                f"page of {turns:,} turns opened",
                opened,
                beside,
                f"under {OPENED_MS[turns]:.0f} ms",
                OPENED_MS[turns],
            )


def _row(figure: str, took: list[float], beside: str, target: str, most: float) -> Row:
    return Row(figure, f"{median(took):.0f} ms", beside, "", target, median(took) < most)


def _made(journal: Path, page: Path, runs: int) -> list[float]:
    """Milliseconds of CPU; the first, for which the templates are compiled, is not counted."""
    found = []
    for _ in range(runs + 1):
        started = time.process_time()
        page.write_text(render_page(journal), encoding="utf-8")
        found.append((time.process_time() - started) * 1000)
    return found[1:]


def _opened(browser: Browser, file: Path, runs: int, turns: int) -> tuple[list[float], float]:
    """Milliseconds from the navigation's start to the second frame after loading, the first of all not counted, and the
    least that the page's thread took of a processor."""
    found = []
    busy = []
    for _ in range(runs + 1):
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        tools = page.context.new_cdp_session(page)
        tools.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.goto(file.as_uri())
        drawn: Any = page.evaluate(_DRAWN)
        if drawn[1] < min(turns * 2, _MOST_STEPS):
            raise RuntimeError(f"the page has {drawn[1]} steps of {turns} turns")
        found.append(float(drawn[0]))
        metrics = {one["name"]: one["value"] for one in tools.send("Performance.getMetrics")["metrics"]}
        busy.append(metrics["TaskDuration"] * 1000)
        page.close()
    return found[1:], min(busy)


def _journal(path: Path, turns: int) -> Path:
    """A run of so many turns as they come: three commands and views for an edit, some of each wrong."""
    return write(path, _records(turns))


def _records(turns: int) -> Iterator[Record]:
    yield lines.UserText(0, "Make it so.")
    text = "".join(
        f"def part_{number}(value: int) -> int:\n    return value + {number}\n\n\n" for number in range(400)
    )
    for number in range(1, turns + 1):
        call = f"call_{number}"
        kind = number % 4
        path = f"source/part_{number % 25}.py"
        if kind:
            arguments = (
                {"command": f"python3 -m unittest tests.test_{number}"}
                if kind == 1
                else {"path": path, "offset": number}
            )
            yield from _turn(number, ToolCall(call, "bash" if kind == 1 else "view", json.dumps(arguments)))
            output = text[number % 300 * 20 : number % 300 * 20 + 3_500]
            failed = number % 40 == 1
            yield lines.CallStarted(number, call, "bash")
            yield lines.PermissionDecision("bash", True, "", "", call)
            yield lines.Result(
                number, call, "bash", output, failed, duration=0.3, metadata={"exit_code": int(failed)}
            )
            continue
        new = text.replace(f"value + {number % 300}\n", f"value + {number}  # changed\n").replace(
            "part_7(", f"part_7_{number}("
        )
        edit = edit_metadata(path, text[:30_000], new[:30_000])
        yield from _turn(
            number, ToolCall(call, "edit", json.dumps({"path": path, "old": "value", "new": "value"}))
        )
        yield from call_records(number, call, "edit", f"Edited {path}.", **edit)
    yield lines.SessionEnded("end_turn", "", turns)
    yield lines.RunEnded("changed", "end_turn", "All of it is done.")


def _turn(number: int, call: ToolCall) -> Iterator[Record]:
    context_tokens = 8_000 + number * 300 % 150_000
    yield lines.RequestSent(number, number * 2)
    usage = Usage(400, context_tokens, 600, 250)
    text = f"Step {number}: I look at the next part, and change what is needed there. " * 3
    yield lines.Response(number, (Text(text), call), "tool_use", "", usage, INFO.cost(usage))
