"""How much one session may use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Checked before each model request; `None` is no limit.

    `tokens` counts input, cache and output together. A response may overshoot `tokens` and `cost_usd`, since
    what it uses is known only when it has ended. `commands` is how many the model may run, `output` how many bytes
    they may print together.
    """

    turns: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    minutes: float | None = None
    commands: int | None = None
    output: int | None = None
