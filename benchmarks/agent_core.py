"""The agent's core over long sessions: what stays the same from request to request, what that saves, what a long
conversation costs a turn, and whether the recording makes the same patch again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.long_script import LongScript, first_words
from benchmarks.long_session import FORMATS, MIN_CACHEABLE, SKILLS, Recorded, Sent, hold_long, unused
from benchmarks.prefix_cache import PrefixCache
from benchmarks.prefixes import described, prefixes
from benchmarks.session import SessionFailedError
from benchmarks.table import Row

WINDOW = 200_000
TURN_BYTES = 8_000
SHARE = 0.95
FIRST_BYTES = 16_000
RATIO = 1.3
MS_A_MB = 20.0
_ALIKE = 0.1
_MB = 1_000_000
_SHOWN = 3
_DENSE = 3
"""Bytes a token, where a vendor counts more than the agent estimates: then its count is what keeps the window."""


def sessions(folder: Path, turns: int, window: int, say: Callable[[str], None]) -> Iterator[Row]:
    """One session in each format; of the first also what a cache would serve."""
    for number, (name, model) in enumerate(FORMATS.items()):
        say(f"long session, {name}")
        script = LongScript(turns, TURN_BYTES)
        recorded = hold_long(model, folder / f"long-{number}", script, window)
        if missing := unused(recorded):
            raise SessionFailedError(f"The session in {name} did without {', '.join(missing)}.")
        yield extending(name, recorded, say)
        if number == 0:
            yield _cached(recorded)


def first_requests(folder: Path, window: int) -> Iterator[Row]:
    """Bytes of the first request's body: all tools, and a catalogue of ten skills."""
    for number, (name, model) in enumerate(FORMATS.items()):
        recorded = hold_long(model, folder / f"first-{number}", LongScript(2, TURN_BYTES), window)
        size = recorded.sent[0].size
        yield Row(
            f"first request's size, {name}",
            f"{size:,} bytes",
            f"{len(SKILLS)} skills",
            "",
            f"at most {FIRST_BYTES:,}",
            size <= FIRST_BYTES,
        )


def extending(name: str, recorded: Recorded, say: Callable[[str], None]) -> Row:
    found = prefixes(recorded.bodies, recorded.summaries)
    expected = 1 + len(recorded.script.agents)
    for words in described(recorded.bodies, found.violations[:_SHOWN]):
        say(f"{name}: {words}")
    return Row(
        f"requests that extend the one before, {name}",
        f"{found.extending} of {found.followers}",
        f"{len(recorded.summaries)} compactions",
        "",
        "all but one after each compaction",
        not found.violations and found.conversations == expected,
    )


def _cached(recorded: Recorded) -> Row:
    served = cached_share(recorded.sent, recorded.summaries, MIN_CACHEABLE)
    return Row(
        "input served by a prefix cache, Messages",
        f"{served.share:.1%}",
        f"{served.tokens / 1e6:.1f} M tokens, prefixes lost: {served.lost}",
        "",
        f"at least {SHARE:.0%}",
        served.share >= SHARE,
    )


class Share(NamedTuple):
    """Of a whole session, in tokens. `lost` counts the requests that were served less of their conversation than the
    cache had of it, although it was not made shorter."""

    tokens: int
    read: int
    lost: int

    @property
    def share(self) -> float:
        return self.read / self.tokens if self.tokens else 0.0


def cached_share(sent: Sequence[Sent], summaries: Sequence[int], minimum: int) -> Share:
    """Everything that was sent counts: subagents and summaries too."""
    cache = PrefixCache(minimum)
    tokens = read = lost = 0
    there: dict[str, int] = {}
    for number, one in enumerate(sent):
        assert one.body is not None
        body = json.loads(one.body)
        served = cache.serve(body, one.arrived / 1000, one.answered / 1000)
        tokens += served.tokens
        read += served.read
        if number in summaries:
            there.clear()
            continue
        conversation = first_words(body)
        lost += served.read < there.get(conversation, 0)
        there[conversation] = served.read + served.written
    return Share(tokens, read, lost)


def context(folder: Path, turns: int, window: int) -> Iterator[Row]:
    """A session that fills the window again and again: how much it ever holds, and what that costs a turn."""
    model = FORMATS["Messages"]
    script = LongScript(turns, TURN_BYTES, plain=True, bytes_a_token=_DENSE)
    recorded = hold_long(model, folder / "context", script, window, keep_bodies=False)
    if len(recorded.summaries) < 2:
        raise SessionFailedError("The session was to fill its window more than once.")
    held = max(one.size for one in recorded.sent) // _DENSE
    yield Row(
        f"context held over {turns:,} turns",
        f"{held:,} tokens",
        f"{len(recorded.summaries)} compactions",
        "",
        f"at most {window:,}",
        held <= window,
    )
    measured = turns_of(recorded.sent, recorded.summaries)
    late, early, ratio = alike(measured)
    slope = ms_a_megabyte(measured)
    yield Row(
        f"turns of equal size over {turns:,} turns",
        f"{late:.1f} ms",
        f"the first third {early:.1f} ms",
        f"{ratio:.2f} ×",
        f"at most {RATIO} ×",
        ratio <= RATIO,
    )
    yield Row(
        f"a MB of body more, {turns:,} turns",
        f"{slope:.1f} ms",
        f"bodies up to {max(one.size for one in recorded.sent) / _MB:.2f} MB",
        "",
        f"at most {MS_A_MB:g} ms",
        slope <= MS_A_MB,
    )


class Took(NamedTuple):
    """One turn: from the end of an answer to the arrival of the next request, whose body has `size` bytes."""

    size: int
    ms: float


def turns_of(sent: Sequence[Sent], summaries: Sequence[int]) -> list[Took]:
    """All turns in their order, those with a summary in them left out."""
    found = []
    for number in range(1, len(sent)):
        if number in summaries or number - 1 in summaries:
            continue
        found.append(Took(sent[number].size, sent[number].arrived - sent[number - 1].answered))
    return found


def alike(turns: Sequence[Took]) -> tuple[float, float, float]:
    """The turns of the last third against those of the first whose bodies were as large, give or take a tenth: both
    medians in ms, and the median of each late turn's ratio to the early ones of its size."""
    early, late = turns[: len(turns) // 3], turns[-(len(turns) // 3) :]
    pairs = []
    for turn in late:
        same = [one.ms for one in early if abs(one.size - turn.size) <= _ALIKE * turn.size]
        if same:
            pairs.append((turn.ms, median(same)))
    if not pairs:
        raise SessionFailedError("No late turn was as large as an early one.")
    ratios = [mine / theirs for mine, theirs in pairs]
    return median(mine for mine, _ in pairs), median(theirs for _, theirs in pairs), median(ratios)


def ms_a_megabyte(turns: Sequence[Took]) -> float:
    """What a turn takes longer for each MB that its body is larger: the fifth with the largest bodies against the
    fifth with the smallest."""
    by_size = sorted(turns, key=lambda turn: turn.size)
    fifth = max(1, len(by_size) // 5)
    small, large = by_size[:fifth], by_size[-fifth:]
    more = median(one.size for one in large) - median(one.size for one in small)
    longer = median(one.ms for one in large) - median(one.ms for one in small)
    return longer / (more / _MB) if more else 0.0
