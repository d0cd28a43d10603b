"""The provider of a run's model: a vendor's, or a recording."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bot.agent.journal_file import read_journal
from bot.contracts.model import Provider
from bot.providers.connect import connect, prewarm
from bot.providers.replay import ReplayProvider

RECORDED = "replay/"


def connect_model(model: str, environment: Mapping[str, str]) -> Provider:
    """The provider for `provider/name`; `replay/PATH` plays the responses of the journal at PATH.

    Imports the vendor's package, which is most of a run's start-up: call it on a thread of its own.
    """
    if model.startswith(RECORDED):
        recorded = read_journal(Path(model.removeprefix(RECORDED)))
        return ReplayProvider(recorded.responses(), recorded.header.info)
    prewarm(model)
    return connect(model, environment)
