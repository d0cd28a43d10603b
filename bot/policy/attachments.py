"""The policy file's key `attachments`: whose pictures a model is shown."""

from __future__ import annotations

from bot.contracts.request import Tier
from bot.policy.kinds import Kind, choice, list_of
from bot.policy.schema import AttachmentsPolicy
from bot.policy.table import Key, Table

# A schedule writes no text.
_AUTHORS = tuple(tier.value for tier in (Tier.MAINTAINER, Tier.CONTRIBUTOR, Tier.OUTSIDER, Tier.BOT))
_TIERS: Kind[frozenset[Tier]] = list_of(choice(_AUTHORS), once=True).into(
    lambda names: frozenset(Tier(name) for name in names)
)
ATTACHMENTS = Table(
    (Key("tiers", _TIERS, "Of whose texts; by the author's account, whoever gave the command."),)
)
ATTACHMENTS_KIND: Kind[AttachmentsPolicy] = ATTACHMENTS.over(AttachmentsPolicy())
