"""The policy file's key `diagnostics`: what looks on while files are edited, what runs before and after."""

from __future__ import annotations

from collections.abc import Mapping

from bot.contracts.checkers import NAMES as CHECKERS
from bot.contracts.servers import MOST_WAIT, NAMES
from bot.policy.kinds import Kind, choice, line, list_of, literal, mapping_of, seconds, truth
from bot.policy.schema import DiagnosticsPolicy, ServerPolicy
from bot.policy.table import Key, Table

SERVER = Table(
    (
        Key("command", line(words="command"), "How it is started instead: words, as a shell would split them."),
        Key("off", truth(), "Leave this one out."),
    )
)  # fmt: skip
_SERVERS: Kind[Mapping[str, ServerPolicy]] = mapping_of(
    choice(NAMES), SERVER.over(ServerPolicy()), words=f"mapping by name: {', '.join(NAMES)}"
)
_CHECKERS: Kind[tuple[str, ...]] = list_of(
    choice(CHECKERS),
    most=len(CHECKERS),
    over=f"there are {len(CHECKERS)} checkers",
    once=True,
)
DIAGNOSTICS = Table(
    (
        Key("off", truth(), "No language servers, and no checkers before and after."),
        Key("wait", seconds(MOST_WAIT), "How long an edit's result waits for what is found in it, at most."),
        Key("servers", _SERVERS, "Single language servers and parsers."),
        Key(
            "checkers",
            literal("none", (), _CHECKERS),
            "What runs before and after; what is there, if not said.",
        ),
    )
)
DIAGNOSTICS_KIND: Kind[DiagnosticsPolicy] = DIAGNOSTICS.over(DiagnosticsPolicy())
