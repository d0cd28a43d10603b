"""Random findings on random pull requests: whatever a model says, GitHub takes the review.

SLASH_AGENT_REVIEWS=1000 in the environment makes it that many reviews.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

from bot.contracts.pulls import Side
from bot.contracts.review import Finding, Severity
from tests.publish.conftest import REPO, World
from tests.publish.reviewed import Reviewed

REVIEWS = int(os.environ.get("SLASH_AGENT_REVIEWS", "8"))
A_PULL = 4
FINDINGS = 40
NAMES = [
    "a.txt",
    "dir/b c.py",
    "é/日本.md",
    "-dash",
    "crlf.txt",
    "no newline",
    'quo"te',
    "gone.py",
    "moved.py",
    "bin",
]
WORDS = ["alpha", "  beta", "", "gamma", "}", "}", "-- x", "++ y", "@@ -1 +1 @@", "\u2028", "\f", "`````"]


def test_no_review_is_refused(world: World) -> None:
    chance = random.Random(7)
    policy = {".github/agent.yml": f"version: 1\nreview:\n  max_findings: {FINDINGS}\n"}
    before: dict[str, list[str]] = {name: [chance.choice(WORDS) for _ in range(80)] for name in NAMES}
    world.forge.commit(REPO, {**policy, **{name: written(name, lines) for name, lines in before.items()}})
    placed = 0
    for number in range(REVIEWS):
        if number % A_PULL == 0:
            pull = pull_request(world, before, chance, f"topic-{number}")
        pull.publish(pull.bundle(*findings(pull, chance, number)))
        placed += len(pull.remarks()) if number % A_PULL == A_PULL - 1 else 0
    refused = [one for one in world.forge.requests if one.status == 422]
    assert refused == []
    # The test says something only where many of them stand on lines.
    assert placed > REVIEWS * 3


def pull_request(world: World, before: dict[str, list[str]], chance: random.Random, branch: str) -> Reviewed:
    files: dict[str, bytes | None] = {"new/file.txt": b"1\n2\n3", "empty": b""}
    for name, lines in before.items():
        changed = [line for line in lines if chance.random() > 0.08]
        for _ in range(chance.randrange(8)):
            changed.insert(chance.randrange(len(changed) + 1), chance.choice(WORDS))
        files[name] = written(name, changed)
    files["gone.py"] = None
    files["moved to.py"], files["moved.py"] = files["moved.py"], None
    world.forge.commit(REPO, files, branch=branch, author="ann")
    return Reviewed(world, world.open(branch))


def written(name: str, lines: list[str]) -> bytes:
    if name == "bin":
        return b"\0" + "".join(lines).encode()
    end = "\r\n" if name == "crlf.txt" else "\n"
    return (end.join(lines) + ("" if name == "no newline" else end)).encode()


def findings(pull: Reviewed, chance: random.Random, review: int) -> Iterator[Finding]:
    paths = [*NAMES, "new/file.txt", "empty", "moved to.py", "elsewhere", "new"]
    for number in range(FINDINGS):
        line = chance.randrange(100)
        start = chance.choice([0, 0, chance.randrange(line + 1), max(0, line - 2)])
        yield Finding(
            chance.choice(paths),
            line,
            chance.choice(list(Severity)),
            f"t{review}x{number}",
            "Body",
            start,
            chance.choice(list(Side)),
            chance.choice(["", "", chance.choice(WORDS), "\n".join(chance.choices(WORDS, k=2))]),
            chance.choice([None, "", "x", "```\n````"]),
        )
