"""How fast secrets are masked, and a text is read with its disguises taken off. CPU time of one thread, so that
what else the machine does counts little."""

from __future__ import annotations

import random
import string
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.table import Row
from bot.gate.detect import Detector
from bot.gate.redact import Redactor
from bot.gate.secrets import Finder

KNOWN_MB = 100.0
PATTERNS_MB = 20.0
KILLER_MS = 200.0
READING_MS = 50.0
_TEXT = 65_536
_KILLERS = (
    "a",
    "ghs_",
    "sk-ant-",
    "eyJ",
    "[](",
    "-----BEGIN RSA PRIVATE KEY-----\n",
    "https://a:",
    "Z2hz",
    "67:68:",
    "sk-ant-api",
    "xoxb-1234567890 ",
)


def redaction(megabytes: int, runs: int) -> Iterator[Row]:
    """Over this repository's own source, with the secrets that a job usually has."""
    draw = random.Random(1)
    redactor, finder = Redactor(_secrets(draw)), Finder()
    detector = Detector(redactor, finder)
    detector.prepare()

    def both_of(text: str) -> str:
        return finder.masked(redactor.text(text))

    source = "".join(path.read_text() for path in sorted(Path(__file__).parents[1].glob("bot/**/*.py")))
    text = (source * (megabytes * 1_000_000 // len(source) + 1))[: megabytes * 1_000_000]
    alone = _seconds(lambda: redactor.text(text), runs)
    yield _row("masking known secrets", megabytes / alone, KNOWN_MB)
    both = _seconds(partial(both_of, text), runs)
    yield _row("masking, patterns included", megabytes / both, PATTERNS_MB)
    worst = max(_seconds(partial(both_of, killer), 1) for killer in _of(_KILLERS, 1_000_000))
    per = worst * 1000
    yield Row(
        "masking 1 MB of the worst of 11 killer strings", f"{per:.0f} ms", "CPU", "", f"at most {KILLER_MS:g} ms",
        per <= KILLER_MS,
    )  # fmt: skip
    texts = (
        text[:_TEXT],
        draw.randbytes(_TEXT // 2).hex(),
        *_of(("%67", "\\u0067", "a\u200b", "103, "), _TEXT),
    )
    slowest = max(_seconds(partial(detector.withhold, each), runs) for each in texts) * 1000
    yield Row(
        "reading 65,536 characters with disguises taken off, the slowest of 6", f"{slowest:.0f} ms", "CPU", "",
        f"at most {READING_MS:g} ms", slowest <= READING_MS,
    )  # fmt: skip


def _secrets(draw: random.Random) -> dict[str, str]:
    def some(length: int) -> str:
        return "".join(draw.choice(string.ascii_letters + string.digits) for _ in range(length))

    return {
        "GITHUB_TOKEN": f"ghs_{some(36)}",
        "ANTHROPIC_API_KEY": f"sk-ant-api03-{some(93)}",
        "RUNTIME": some(900),
    }


def _of(pieces: tuple[str, ...], length: int) -> tuple[str, ...]:
    return tuple((piece * (length // len(piece) + 1))[:length] for piece in pieces)


def _row(what: str, speed: float, least: float) -> Row:
    return Row(what, f"{speed:.0f} MB/s", "CPU", "", f"at least {least:g} MB/s", speed >= least)


def _seconds(work: Callable[[], object], runs: int) -> float:
    """The best of `runs`."""
    found = []
    for _ in range(runs):
        began = time.thread_time()
        work()
        found.append(time.thread_time() - began)
    return min(found)
