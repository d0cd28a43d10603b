"""The policy file's keys `sandbox`, how much a command may take of the machine, and `dangerous`."""

from __future__ import annotations

from bot.policy.dangerous import NAMES
from bot.policy.kinds import Kind, choice, list_of, whole
from bot.policy.schema import DangerousPolicy, SandboxLimits, SandboxPolicy
from bot.policy.table import Key, Table

_MOST_MIB = 64 * 1024
_MOST_PROCESSES = 10_000
LIMITS = Table(
    (
        Key("memory", whole(64, _MOST_MIB), "MiB that its processes hold together."),
        Key("processes", whole(10, _MOST_PROCESSES), "Processes at once."),
        Key("file", whole(1, _MOST_MIB), "MiB of one file."),
        Key("disk", whole(1, _MOST_MIB), "MiB that all commands together add to the work tree and tmp."),
    )
)
SANDBOX = Table((Key("limits", LIMITS.over(SandboxLimits()), "For each command with all that it starts."),))
SANDBOX_KIND: Kind[SandboxPolicy] = SANDBOX.over(SandboxPolicy())
_ALLOW: Kind[tuple[str, ...]] = list_of(choice(NAMES), most=len(NAMES), once=True)
DANGEROUS = Table((Key("allow", _ALLOW, "Built-in rules that do not hold here, by name."),))
DANGEROUS_KIND: Kind[DangerousPolicy] = DANGEROUS.over(DangerousPolicy())
