"""What the whole suite shares: tests that need more than Python are left out by name, never in silence."""

import compileall
import functools
import gc
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import httpcore2
import pytest
from hypothesis import HealthCheck, settings

import bot
from bot.workspace import probe, start
from tests.support.act import ACT
from tests.support.warm import share_server
from tests.support.warm_server import leave_out_checkers, leave_out_checks, probe_once, reuse_parsing_children
from tests.support.workspaces import OVERLAYS

# How long an example takes, and how long it takes to think of one, is the machine's affair. The examples are the same
# each time, so that a change is refused for what it breaks; others are looked for by `make fuzz`, and by the suite with
# SLASH_AGENT_TEST_RANDOM set.
settings.register_profile(
    "suite",
    settings(),
    deadline=None,
    max_examples=int(os.environ.get("SLASH_AGENT_TEST_EXAMPLES", "50")),
    derandomize=not os.environ.get("SLASH_AGENT_TEST_RANDOM"),
    suppress_health_check=[HealthCheck.too_slow, *settings().suppress_health_check],
)
settings.load_profile("suite")

_REASONS = {
    "bubblewrap": "bubblewrap does not work here (install it: apt-get install bubblewrap)",
    "overlays": "no bubblewrap here that mounts overlays (`make extras` installs one)",
    "node": "Node.js and npm are not here (install them: apt-get install nodejs npm)",
    "chromium": "no Chromium here (install it: apt-get install chromium)",
    "act": "nektos/act is not here (`make extras` builds it, with Go)",
    "site": "the generator of the site is not here (`make docs` installs it)",
}

_PYTHON = os.path.join(sys.base_prefix, "bin", "python3")
if os.path.realpath(shutil.which("python3") or "") != os.path.realpath(_PYTHON):
    # The `python3` of the tests is the one that runs them, and no version manager's script before it: such a script
    # takes half a second, for each check of each run.
    os.environ["PATH"] = os.pathsep.join([os.path.dirname(_PYTHON), os.environ["PATH"]])


# To read the machine's certificates takes a model's client a fiftieth of a second, and hardly a test meets one of them.
httpcore2.default_ssl_context = functools.cache(httpcore2.default_ssl_context)


# Thousands of tests are looked through again and again while they are collected, and by every full collection after it.
gc.disable()


def pytest_configure(config: pytest.Config) -> None:
    """Compile what tool hosts import. They cannot write bytecode, since the sandbox shows its folder read-only: if it
    is missing or older than the source, each tool host compiles anew, which doubles the time of its start."""
    if not hasattr(config, "workerinput"):
        package = Path(bot.__file__).parent
        for name in ("contracts", "toolhost"):
            compileall.compile_dir(package / name, quiet=2)
        if getattr(config.option, "numprocesses", None):
            share_server()


def pytest_collection_finish() -> None:
    gc.enable()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _parsing_children() -> Iterator[None]:
    waiting = reuse_parsing_children()
    yield
    for child in waiting:
        child.kill()
        child.communicate()


@pytest.fixture
def one_day() -> None:
    """For what counts since midnight UTC: the test is not begun where midnight may come in the middle of it."""
    left = 86_400 - time.time() % 86_400
    if left < 90:
        time.sleep(left + 1)


def _bubblewrap_works() -> bool:
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return False
    command = [bwrap, "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _missing() -> dict[str, str]:
    have = {
        "bubblewrap": _bubblewrap_works(),
        "overlays": OVERLAYS is not None,
        "node": bool(shutil.which("node") and shutil.which("npm")),
        "act": ACT.exists(),
        "chromium": bool(shutil.which("chromium") or shutil.which("chromium-browser")),
        "site": os.path.exists(".cache/docs/.installed"),
    }
    return {marker: _REASONS[marker] for marker, present in have.items() if not present}


# Other people's programs take minutes to fetch and to start, so `make test` does without them.
_SLOW = {"act", "node", "chromium", "site"}

# Of a table of whole runs, each of which takes a second, `make test` makes the first, and `make test-all` the others.
_TABLES = {"action", "attacks", "cli", "doctor", "publish", "session"}
_WHOLE_RUN = {"attack", "begin", "bench", "cli", "scene", "stage", "world"}


def _package(item: pytest.Item) -> str:
    """The folder of `tests` that it lies in."""
    return item.nodeid.split("/", 2)[1]


def _is_later_row(item: pytest.Item, begun: set[tuple[Path, str]]) -> bool:
    """`begun` are the tables of which a row was seen."""
    if _package(item) not in _TABLES or not hasattr(item, "callspec"):
        return False
    if item.get_closest_marker("every_row") or not _WHOLE_RUN.intersection(getattr(item, "fixturenames", ())):
        return False
    table = (item.path, getattr(item, "originalname", ""))
    later = table in begun
    begun.add(table)
    return later


@pytest.hookimpl(tryfirst=True)  # before pytest reads `-m`
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    missing = _missing()
    if missing and os.environ.get("SLASH_AGENT_TEST_EVERYTHING"):
        raise pytest.UsageError("nothing may be left out here, but: " + "; ".join(missing.values()))
    begun: set[tuple[Path, str]] = set()
    for item in items:
        markers = {marker.name for marker in item.iter_markers()}
        if markers & _SLOW or _is_later_row(item, begun):
            item.add_marker(pytest.mark.slow)
        for marker in markers & missing.keys():
            item.add_marker(pytest.mark.skip(reason=missing[marker]))


# Runs of the program in these rooms have no ruff and ty of ours, so that none waits for language servers and checkers
# that it is not about: a fifth of its time. Tests of what they find say `pytest.mark.checkers`. Nor do they run the
# checks that they detect, unless a test says `pytest.mark.checks`, or checkers, unless it says either.
_WHOLE_RUNS = {"action", "attacks", "cli", "doctor", "faults", "publish", "report", "session"}
_CHECKERS = start.CHECKERS
_PROBE = probe.probe


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    room = _package(item)
    without = room in _WHOLE_RUNS and item.get_closest_marker("checkers") is None
    if room in _WHOLE_RUNS or "bot.run.parts" in sys.modules:
        unchecked = room in _WHOLE_RUNS - {"attacks", "faults"} and item.get_closest_marker("checks") is None
        leave_out_checks(unchecked)
        leave_out_checkers(unchecked and without)
    start.CHECKERS = () if without else _CHECKERS  # type: ignore[assignment]
    # And of each kind of sandbox the canaries are planted once a worker.
    probe.probe = probe_once if room in _WHOLE_RUNS - {"attacks"} else _PROBE


_JOURNAL = "journal.jsonl"
_TAIL = 20_000


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows what the runs in its folder wrote into their journals last: no assertion's words are long
    enough for why a run went another way than its script."""
    report = yield
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    if report.failed and folder is not None:
        # `rglob` raises at a path that is too long, of which some tests make one.
        found = sorted(
            Path(place, name) for place, _, names in os.walk(folder) for name in names if name == _JOURNAL
        )
        told = {path.read_text("utf-8", "replace"): path for path in found}
        report.sections += [(f"end of {path}", text[-_TAIL:]) for text, path in told.items()]
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    left_out: dict[str, int] = {}
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        left_out[reason.removeprefix("Skipped: ")] = left_out.get(reason.removeprefix("Skipped: "), 0) + 1
    if left_out:
        terminalreporter.section("tests left out")
        for reason, count in sorted(left_out.items()):
            terminalreporter.write_line(f"{count:4d}  {reason}")
