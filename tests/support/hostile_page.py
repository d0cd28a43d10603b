"""A journal with a script in every field of every kind of line, and one of the same shape without."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bot.agent.journal import Journal
from bot.contracts.journal import AgentStarted, CallOpened, Delta
from tests.support.made_records import header, records

ATTACK = (
    "</pre></title></style></script></template>--><script>window.owned=1</script><svg onload=window.owned=1>"
    "<img src=x onerror=window.owned=1>\"' autofocus onfocus='window.owned=1' {{ 7*7 }} {% x %} "
    "javascript:window.owned=1"
)


def attack(name: str) -> str:
    return ATTACK


def hostile_journal(path: Path, text: Callable[[str], str] = attack, less: tuple[type, ...] = ()) -> Path:
    """All kinds of lines but those in `less`.

    Answers that streamed and never became whole are in a turn of their own: whole ones stand for what streamed.
    """
    with Journal(path, lambda said: said) as journal:
        journal.write(header(text))
        for record in records(text):
            if isinstance(record, less):
                continue
            if isinstance(record, AgentStarted):
                journal.of(text("agent")).write(record)
            elif isinstance(record, Delta | CallOpened):
                journal.write(record._replace(turn=7))
            else:
                journal.write(record)
    return path
