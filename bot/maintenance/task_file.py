"""Parse a task file: front matter between two lines of `---`, then Markdown.

---
schedule: weekly
paths: ["docs/**", README.md]
labels: [documentation]
limits: { usd: 1 }
---
Find links in the documentation that lead nowhere, and fix or remove them.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Annotated

from pydantic import AfterValidator, TypeAdapter

from bot.contracts.errors import UsageError
from bot.maintenance.task import FOLDER, Task, consistent
from bot.parsing.front_matter import split_front_matter
from bot.parsing.parser import Parser
from bot.parsing.yaml_document import Problem
from bot.policy.problems import PolicyError
from bot.policy.reading import read_document

MAX_INSTRUCTION = 20_000
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,48}[a-z0-9])?")


def is_task_file(name: str) -> bool:
    """Whether a file of the folder is a task: a Markdown file other than `README.md`."""
    return name.endswith(".md") and name != "README.md"


def path_of(name: str) -> str:
    """Return the path of the task `name`. Raises `UsageError` for an invalid name: it may come from a payload."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"`{name[:60]}` is not a task name: use small letters, digits and hyphens.")
    return f"{FOLDER}/{name}.md"


def read_task(text: str, path: str, parser: Parser | None = None) -> Task:
    """Parse the task file at `path`. Raises `PolicyError` with each problem as `file:line:column: message`."""
    name = path.rpartition("/")[2].removesuffix(".md")
    front = split_front_matter(text)
    instruction = front.body.strip()
    if not _NAME.fullmatch(name):
        why = "a task's file is named with small letters, digits and hyphens, as in dead-links.md"
    elif front.is_open:
        why = "the front matter has no second line of ---"
    elif not instruction:
        why = "there is no instruction after the front matter"
    elif len(instruction) > MAX_INSTRUCTION:
        why = f"the instruction is over {MAX_INSTRUCTION} characters"
    else:
        if front.yaml is None:
            return Task(name, instruction)
        given = {"name": name, "instruction": instruction}
        return read_document(_adapter(), front.yaml, path, parser, given)
    raise PolicyError(path, [Problem(1, 1, why)])


@cache
def _adapter() -> TypeAdapter[Task]:
    """Cached: it takes 20 ms."""
    return TypeAdapter(Annotated[Task, AfterValidator(consistent)])
