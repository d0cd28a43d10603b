"""How fast secrets are masked, hidden text is taken out, and a text is decoded and searched. CPU time of one
thread, so that what else the machine does counts little."""

from __future__ import annotations

import random
import string
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.table import Row
from bot.events.sanitize import clean
from bot.gate.clean_text import clean_markdown
from bot.gate.redact import Redactor
from bot.gate.secrets import without_credentials

KNOWN_MB = 100.0
PATTERNS_MB = 20.0
KILLER_MS = 200.0
READING_MS = 50.0
COMMENT_MS = 60.0
SLOWEST_COMMENT_MS = 1_500.0
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
_HIDERS = (
    "<b><i>", "<a b>", "<img alt=a>", "<br hidden>", "<p hidden>", "<p hidden>x</p>", "<i style='left:", "</div>",
    "<!-->", "<!-- x -->", "<!--", "<!<!-- x -->-- x -->", "&#60;", "&#1;", "&#8203;", "&ZeroWidthSpace;",
    "\u200b", "a\u200b", "\u3042\u200d\u200c", "\u202ea\u202c", "\U000e0041", "\ufe0f", "\U0001f600\u200d",
    "\u2764\ufe0f\u200d\U0001f525", "\U0001f3f4\U000e0067", "[a[b](c)](d)", "[![a](b)](c)", "![a](b)", "[x](y \"z\")",
    "![a](data:image/png;base64,AAAA)", '<a href="data:text/html;base64,AAAA">', "<a b c d e f g h i j k l m n>",
    "`a`<b c> ", "```\n", "<a ", "<a b='", "![", "](", "`", "[a]: b\n\n", "[^a]: b\n\n", "[a]: b \"\n", "<?", "<?>",
    "<?`a`", "`a`<?", "<a `b`>", "<i hidden>`a`</i>", "> ```\n", "- `a`\n",
    "[](", "$\\phantom{", "<rp>", "```mermaid\n%%{",
)  # fmt: skip


def redaction(megabytes: int, runs: int) -> Iterator[Row]:
    """Over this repository's own source, with the secrets that a job usually has."""
    draw = random.Random(1)
    redactor = Redactor(_secrets(draw))
    redactor.prepare()

    def both_of(text: str) -> str:
        return without_credentials(redactor.text(text))

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
    yield hygiene()
    yield from comments()
    texts = (
        text[:_TEXT],
        draw.randbytes(_TEXT // 2).hex(),
        *_of(("%67", "67:68:69:", "Z2hzZ2hzZ2hzZ2hz ", "a"), _TEXT),
    )
    slowest = max(_seconds(partial(redactor.withhold, each), runs) for each in texts) * 1000
    yield Row(
        "decoding and searching 65,536 characters, the slowest of 6", f"{slowest:.0f} ms", "CPU", "",
        f"at most {READING_MS:g} ms", slowest <= READING_MS,
    )  # fmt: skip


def hygiene() -> Row:
    """What is hidden taken out of a text made to slow that down: of one piece, or one thing of its whole length."""
    texts = (*_of(_HIDERS, 1_000_000), f"<a{' b=c' * 250_000}>", "[" * 400_000 + "](" * 300_000)
    worst = max(_seconds(partial(clean, text), 3) for text in texts) * 1000
    return Row(
        f"hygiene of 1 MB of the worst of {len(texts)} killer strings", f"{worst:.0f} ms", "CPU", "",
        f"at most {KILLER_MS:g} ms", worst <= KILLER_MS,
    )  # fmt: skip


def comments() -> Iterator[Row]:
    """The text gate on a comment of 10 kB as a model writes them, and on the worst of 65,536 characters."""
    part = (
        "The `total` is **rounded** too late, see [format.py](https://github.com/o/r/blob/main/format.py) and #12.\n\n"
        "- `59.7` becomes 60 s\n- nothing else changes\n\n```python\nprint(total)\n```\n\n"
    )
    text = (part * (10_000 // len(part) + 1))[:10_000]
    taken = sorted(_seconds(partial(clean_markdown, text, _TEXT), 1) for _ in range(9))[4] * 1000
    yield Row(
        "text gate: a comment of 10 kB, median", f"{taken:.0f} ms", "CPU", "", f"at most {COMMENT_MS:g} ms",
        taken <= COMMENT_MS,
    )  # fmt: skip
    killers = _of(("[", "|", "- ```\n", "*_~~`[!<", "| a\n|-\n"), _TEXT)
    worst = max(_seconds(partial(clean_markdown, each, _TEXT), 1) for each in killers) * 1000
    yield Row(
        f"text gate: 65,536 characters, the slowest of {len(killers)}", f"{worst:.0f} ms", "CPU", "",
        f"at most {SLOWEST_COMMENT_MS:g} ms", worst <= SLOWEST_COMMENT_MS,
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
        started = time.thread_time()
        work()
        found.append(time.thread_time() - started)
    return min(found)
