"""Table of models: limits in tokens, prices in USD per million tokens, abilities, as the vendors listed them in
November 2026 (platform.claude.com/docs/en/about-claude/pricing, developers.openai.com/api/docs/pricing), and when a
vendor ends a model (.../model-deprecations, .../deprecations).

A policy may override it (`models:`, see docs/models.md); an unlisted model gets a conservative guess.
"""

import difflib
import re
from datetime import date
from typing import NamedTuple

from bot.contracts.model import EFFORTS, LongPrompts, ModelInfo, ModelOverride, ThinkingKind

_THOUSAND = 1_000


def _rows(table: str) -> dict[str, tuple[float, ...]]:
    """Return the figures of each row by its name."""
    rows = map(str.split, table.strip().splitlines())
    return {name: tuple(map(float, figures)) for name, *figures in rows}


# Columns: name; context window and longest output in thousands; input, output, cache read.
_ANTHROPIC = _rows("""
    claude-fable-5-2   1000  128      8   40    0.2
    claude-fable-5-1   1000  128     10   50   0.25
    claude-fable-5     1000  128     10   50      1
    claude-mythos-5-2  1000  128      8   40    0.2
    claude-mythos-5-1  1000  128     10   50   0.25
    claude-mythos-5    1000  128     10   50      1
    claude-opus-5-5    1000  128      4   20    0.2
    claude-opus-5      1000  128      5   25    0.5
    claude-opus-4-8    1000  128      5   25    0.5
    claude-opus-4-7    1000  128      5   25    0.5
    claude-opus-4-6    1000  128      5   25    0.5
    claude-opus-4-5     200   64      5   25    0.5
    claude-opus-4-1     200   32     15   75    1.5
    claude-sonnet-5-5  1000  128      2   10    0.1
    claude-sonnet-5    1000  128      2   10    0.2
    claude-sonnet-4-6  1000   64      3   15    0.3
    claude-sonnet-4-5   200   64      3   15    0.3
    claude-haiku-5-5   1000  128    0.1  0.5   0.01
    claude-haiku-4-5    200   64      1    5    0.1
""")
_OPENAI = _rows("""
    gpt-6.2-astra  1050  128      8   40    0.4
    gpt-6.2-sol    1050  128      2   10    0.1
    gpt-6.1-sol    1050  128      2   10    0.1
    gpt-6.1-terra  1050  128      1    5   0.05
    gpt-6-astra    1050  128     10   50      1
    gpt-6-sol      1050  128      2   10    0.2
    gpt-6-luna     1050  128    0.1  0.5   0.01
    gpt-5.6-sol    1050  128      4   20    0.4
    gpt-5.6-terra  1050  128      2   12    0.2
    gpt-5.6-luna   1050  128    0.2  1.2   0.02
    gpt-5.5        1050  128      5   30    0.5
    gpt-5.4        1050  128    2.5   15   0.25
    gpt-5.4-mini    400  128   0.75  4.5  0.075
    gpt-5.4-nano    400  128    0.2 1.25   0.02
    gpt-5.2         400  128   1.75   14  0.175
    gpt-5.1         400  128   1.25   10  0.125
    gpt-5           400  128   1.25   10  0.125
    gpt-5-mini      400  128   0.25    2  0.025
    gpt-5-nano      400  128   0.05  0.4  0.005
    gpt-4.1        1047   32      2    8    0.5
    gpt-4.1-mini   1047   32    0.4  1.6    0.1
    gpt-4.1-nano   1047   32    0.1  0.4  0.025
    gpt-4o          128   16    2.5   10   1.25
    gpt-4o-mini     128   16   0.15  0.6  0.075
    o4-mini         200  100    1.1  4.4  0.275
    o3              200  100      2    8    0.5
""")
_TABLE = {**_ANTHROPIC, **_OPENAI}
_WRITE = 1.25
"""The price of writing to the cache for 5 minutes, as a factor of the input's, except for older models of OpenAI."""
_FREE_WRITE = frozenset(name for name in _OPENAI if not name.startswith(("gpt-6", "gpt-5.6")))
_LONG_OPENAI = LongPrompts(272_000, 2.0, 1.5)
_LONG = {
    "claude-haiku-5-5": LongPrompts(100_000, 5.0, 5.0),
    **dict.fromkeys(_OPENAI.keys() - _FREE_WRITE | {"gpt-5.5", "gpt-5.4"}, _LONG_OPENAI),
}
# For a model that nobody listed: the window that most have at least, and a high price, so that a budget binds early.
_GUESS = (128, 8, 5.0, 25.0, 0.5)
_SNAPSHOT = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$")
# Bedrock: us.anthropic.claude-sonnet-5-5-v1:0. Vertex: claude-haiku-4-5@20251001.
_CLOUD_AFFIX = re.compile(r"^(?:[a-z-]+\.)?anthropic\.|(?:-v\d+)?(?::\d+)?$|@.*$")

# Claude before it thought as much as it likes; the oldest do not think unless they are given a number.
_BUDGET_THINKING = frozenset({"claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5"})
_NO_THINKING = frozenset(
    {"claude-opus-4-1", "gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano", "gpt-4o", "gpt-4o-mini"}
)
_BASIC = ("low", "medium", "high")
_ALL = (*_BASIC, "xhigh", "max")
# Levels of effort. The other models that think adaptively take all from `low` on, the others none.
_EFFORTS = {
    "claude-opus-4-5": _BASIC,
    "claude-opus-4-6": (*_BASIC, "max"),
    "claude-sonnet-4-6": (*_BASIC, "max"),
    **dict.fromkeys(("gpt-6.2-astra", "gpt-6.2-sol", "gpt-6.1-sol", "gpt-6-astra"), _ALL),
    **dict.fromkeys(("gpt-6.1-terra", "gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna"), ("none", *_ALL)),
    **dict.fromkeys(
        ("gpt-6-sol", "gpt-6-luna", "gpt-5.5", "gpt-5.4", "gpt-5.4-mini", "gpt-5.4-nano", "gpt-5.2"),
        ("none", *_BASIC, "xhigh"),
    ),
    "gpt-5.1": ("none", *_BASIC),
    **dict.fromkeys(("gpt-5", "gpt-5-mini", "gpt-5-nano"), ("minimal", *_BASIC)),
    **dict.fromkeys(("o3", "o4-mini"), _BASIC),
}
# Chat Completions refuses tools together with an effort for all newer ones.
CHAT_EFFORTS = frozenset({"gpt-5.1", "gpt-5", "gpt-5-mini", "gpt-5-nano", "o3", "o4-mini"})
DEFAULTS = {"anthropic": "claude-sonnet-5-5", "openai": "gpt-6.2-sol"}


def model_info(name: str, *, is_local: bool = False) -> ModelInfo:
    """Return the model's limits, prices and abilities. An unlisted model gets a conservative guess with `known`
    false: no vision, no special features, a high price.

    `name` may have a maker's prefix (`anthropic/claude-sonnet-5-5` at OpenRouter) and a snapshot's date. An
    unlisted model on the user's machine (`is_local`) costs nothing.
    """
    listed = listed_name(name)
    row = _TABLE.get(listed)
    window, longest, input_price, output_price, cached_price = row or _GUESS
    if row is None and is_local:
        input_price = output_price = cached_price = 0.0
    written_price = input_price * (1.0 if listed in _FREE_WRITE else _WRITE)
    limits = int(window * _THOUSAND), int(longest * _THOUSAND)
    info = ModelInfo(
        name, *limits, input_price, output_price, cached_price, written_price, known=row is not None
    )
    return _with_abilities(info, listed) if row else info


def _with_abilities(info: ModelInfo, listed: str) -> ModelInfo:
    """Add the abilities of a listed model. All of them have vision."""
    is_claude = listed in _ANTHROPIC
    thinking: ThinkingKind = "adaptive" if is_claude else "effort"
    if listed in _NO_THINKING:
        thinking = "off"
    elif listed in _BUDGET_THINKING:
        thinking = "budget"
    return info._replace(
        vision=True,
        thinking=thinking,
        streams_tools=is_claude and thinking == "adaptive",
        allowed_tools=not is_claude,
        forced_choice=not is_claude,
        efforts=_EFFORTS.get(listed, _ALL if thinking == "adaptive" else ()),
        hour_cache=is_claude,
        long_prompts=_LONG.get(listed),
    )


def effort_of(info: ModelInfo, wanted: str) -> str:
    """Return the level that the model takes for `wanted`: the nearest lower one if it does not have that, and its
    lowest if all are higher. Empty if nothing is wanted or the model takes no level."""
    levels = sorted(info.efforts, key=EFFORTS.index)
    if not wanted or not levels:
        return ""
    lower = [level for level in levels if EFFORTS.index(level) <= EFFORTS.index(wanted)]
    return lower[-1] if lower else levels[0]


def effort_notes(info: ModelInfo, wanted: str) -> tuple[str, ...]:
    """Return a note for people if the model does not take the wanted effort as it is."""
    level = effort_of(info, wanted)
    if level == wanted:
        return ()
    if not level:
        note = (
            f"The model {info.name} takes no level of effort here, so `effort: {wanted}` is left out. "
            "The policy's `models:` can set `efforts`."
        )
        return (note,)
    return (f"The model {info.name} has no effort {wanted!r}; it works with {level!r}.",)


def similar_name(name: str) -> str:
    """Return the listed model that a misspelled name resembles; empty if none is near, and for a listed one."""
    listed = listed_name(name)
    if listed in _TABLE:
        return ""
    return next(iter(difflib.get_close_matches(listed[:100], _TABLE, n=1, cutoff=0.8)), "")


def full_name_of(name: str) -> str:
    """Return `provider/name` of a listed model named, or nearly named, without its provider; else empty."""
    listed = name if name in _TABLE else similar_name(name)
    return f"{'anthropic' if listed in _ANTHROPIC else 'openai'}/{listed}" if listed else ""


def apply_override(info: ModelInfo, override: ModelOverride) -> ModelInfo:
    """Return `info` with the policy's values. A model with window and prices counts as known."""
    known = info.known or {"context_window", "input_price", "output_price"} <= override.keys()
    return info._replace(**override, known=known, output_capped="max_output" in override)


def guess_notes(info: ModelInfo) -> tuple[str, ...]:
    """Return notes for the outcome about a guessed model."""
    if info.known:
        return ()
    note = (
        f"The model {info.name} is not listed. This run took its context window for {info.context_window:,} tokens and "
        f"its prices for {info.input_price:g} and {info.output_price:g} USD per million tokens. "
        "The policy's `models:` can set them."
    )
    return (note,)


def listed_name(name: str) -> str:
    """Return the model's name without a maker, a cloud's affix and a snapshot's date."""
    return _SNAPSHOT.sub("", _CLOUD_AFFIX.sub("", name.rpartition("/")[2]))


class End(NamedTuple):
    """`instead` is the model that replaces it, without the provider."""

    day: date
    instead: str


# Columns: a pattern of the name without a snapshot's date, from the most exact one on; the day; the model that replaces
# it. The dates hold for the vendors' own servers.
_ENDINGS = r"""
    claude-(1|2|instant).*            2025-07-21  claude-sonnet-5-5
    claude-3-opus                     2026-01-05  claude-opus-5-5
    claude-3(-[57])?-sonnet           2026-02-19  claude-sonnet-5-5
    claude-3(-5)?-haiku               2026-04-20  claude-haiku-5-5
    claude-opus-4(-0)?                2026-06-15  claude-opus-5-5
    claude-sonnet-4(-0)?              2026-06-15  claude-sonnet-5-5
    claude-mythos-preview             2026-06-30  claude-mythos-5-2
    claude-opus-4-1                   2026-08-05  claude-opus-5-5
    claude-sonnet-4-5                 2026-11-30  claude-sonnet-5-5
    claude-opus-4-5                   2027-01-22  claude-opus-5-5
    gpt-3\.5-.*                       2026-10-23  gpt-6.1-terra
    gpt-4-32k.*|gpt-4-vision-preview  2025-06-06  gpt-6.2-sol
    gpt-4(-.*)?|gpt-4o-2024-05-13     2026-10-23  gpt-6.2-sol
    chatgpt-4o                        2026-02-17  gpt-6.2-sol
    gpt-4o-(mini-)?audio-preview      2026-05-07  gpt-6.2-sol
    gpt-4o-(mini-)?search-preview     2026-07-23  gpt-6.2-sol
    gpt-4\.1-nano                     2026-10-23  gpt-6-luna
    gpt-4\.1(-mini)?|gpt-4o(-mini)?   2027-01-14  gpt-6-luna
    gpt-5(\.1)?-(chat|codex)          2026-07-23  gpt-6.2-sol
    gpt-5\.[23]-chat                  2026-08-10  gpt-6.2-sol
    gpt-5(-pro)?|o3(-pro)?            2026-12-11  gpt-6.1-sol
    gpt-5-mini                        2026-12-11  gpt-6.1-terra
    gpt-5-nano                        2026-12-11  gpt-6-luna
    gpt-5\.1                          2027-04-01  gpt-6.1-sol
    gpt-5\.4-nano                     2027-04-01  gpt-6-luna
    o1-preview                        2025-07-28  gpt-6.2-sol
    o1-mini                           2025-10-27  gpt-6.1-terra
    o1(-pro)?|o3-mini                 2026-10-23  gpt-6.2-sol
    o4-mini                           2026-10-23  gpt-6.1-terra
    codex-mini                        2026-02-12  gpt-6.2-sol
"""
_ENDS = tuple(
    (re.compile(pattern), End(date.fromisoformat(day), instead))
    for pattern, day, instead in map(str.split, _ENDINGS.strip().splitlines())
)


def end_of(name: str) -> End | None:
    """Return when the vendor ends the model, and `None` if it has announced no date."""
    for candidate in (name.rpartition("/")[2], listed_name(name)):
        for pattern, end in _ENDS:
            if pattern.fullmatch(candidate):
                return end
    return None
