"""Random findings on random pull requests, published one review after the other: what a model might say of anything."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from bot.contracts.pulls import Finding, Severity, Side
from slash_forge.faults import Exchange
from tests.publish.conftest import REPO, World
from tests.publish.reviewed import Reviewed

A_PULL = 4
FINDINGS = 40
NAMES = [
    "a.txt", "dir/b c.py", "é/日本.md", "-dash", "crlf.txt", "no newline", 'quo"te', "gone.py", "moved.py",
    "bin",
]  # fmt: skip
WORDS = ["alpha", "  beta", "", "gamma", "}", "}", "-- x", "++ y", "@@ -1 +1 @@", "\u2028", "\f", "`````"]


@dataclass(frozen=True, slots=True)
class Done:
    """One review: what was answered with a 422 while it was published, and how many of its comments stand on lines."""

    refused: tuple[Exchange, ...]
    placed: int


def random_reviews(world: World, count: int) -> Iterator[Done]:
    """Publishes `count` reviews, four a pull request; always the same ones."""
    chance = random.Random(7)
    policy = {".github/agent.yml": f"version: 1\nreview:\n  max_findings: {FINDINGS}\n"}
    before: dict[str, list[str]] = {name: [chance.choice(WORDS) for _ in range(80)] for name in NAMES}
    world.forge.commit(REPO, {**policy, **{name: _written(name, lines) for name, lines in before.items()}})
    for number in range(count):
        if number % A_PULL == 0:
            pull = _pull_request(world, before, chance, f"topic-{number}")
        seen = len(world.forge.requests)
        pull.publish(pull.bundle(*_findings(chance, number)))
        asked = world.forge.requests[seen:]
        posted = [one for one in asked if (one.method, one.status) == ("POST", 200)]
        taken = [one for one in posted if one.path.endswith("/reviews")]
        placed = sum(len(one.json.get("comments", ())) for one in taken)
        yield Done(tuple(one for one in asked if one.status == 422), placed)


def _pull_request(world: World, before: dict[str, list[str]], chance: random.Random, branch: str) -> Reviewed:
    files: dict[str, bytes | None] = {"new/file.txt": b"1\n2\n3", "empty": b""}
    for name, lines in before.items():
        changed = [line for line in lines if chance.random() > 0.08]
        for _ in range(chance.randrange(8)):
            changed.insert(chance.randrange(len(changed) + 1), chance.choice(WORDS))
        files[name] = _written(name, changed)
    files["gone.py"] = None
    files["moved to.py"], files["moved.py"] = files["moved.py"], None
    world.forge.commit(REPO, files, branch=branch, author="ann")
    return Reviewed(world, world.open(branch))


def _written(name: str, lines: list[str]) -> bytes:
    if name == "bin":
        return b"\0" + "".join(lines).encode()
    end = "\r\n" if name == "crlf.txt" else "\n"
    return (end.join(lines) + ("" if name == "no newline" else end)).encode()


def _findings(chance: random.Random, review: int) -> Iterator[Finding]:
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
