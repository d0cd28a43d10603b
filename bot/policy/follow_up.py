"""Keys of following a pull request of the bot's own."""

from dataclasses import dataclass
from typing import Annotated

from bot.policy.field_types import key, line, whole
from bot.policy.tiers_and_budget import BotId, Usd

_Times = Annotated[int, whole(0, 20)]


@dataclass(frozen=True)
class FollowUpPolicy:
    """Limits of following one pull request of the bot's own until people can merge it."""

    fix: _Times = key(3, "Rounds that fix failed checks.")
    review: _Times = key(3, "Rounds that answer reviews.")
    conflict: _Times = key(2, "Rounds that resolve conflicts with the base.")
    update: _Times = key(2, "Merges of the base that need no model.")
    rounds: _Times = key(6, "Rounds of all kinds together.")
    usd: Usd = key(3.0, "USD for all rounds together.")
    bots: frozenset[BotId] = key(frozenset(), "Ids of accounts of review bots; each may cause one round.")
    stop_label: Annotated[str, line("the name of a label")] = key(
        "agent-stop", "A pull request with this label is not followed."
    )
    resolve: bool = key(True, "Resolve the review threads whose lines a round changed.")
    auto_merge: bool = key(False, "Let GitHub merge it as soon as its rules allow that.")
