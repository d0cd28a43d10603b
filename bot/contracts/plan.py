"""A plan as a value: what the bot would do, posted before it is done. `plan.json` of a bundle is one."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step. `paths` are the files that it is expected to touch."""

    text: str
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """`estimate_usd` and `estimate_turns` are the model's own guess of carrying the plan out."""

    title: str
    steps: tuple[PlanStep, ...]
    risks: str = ""
    estimate_usd: float = 0.0
    estimate_turns: int = 0

    @property
    def hash(self) -> str:
        """SHA-256 over the plan's canonical JSON, 64 hex digits: what `approve` names is exactly this plan."""
        canonical = json.dumps(asdict(self), sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()
