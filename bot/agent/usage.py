"""What a session used so far: requests, tokens, money, commands."""

from dataclasses import dataclass, field

from bot.contracts.messages import Usage


@dataclass(slots=True)
class SessionUsage:
    """Requests, tokens, USD, commands, and the commands' output in bytes."""

    requests: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    commands: int = 0
    output: int = 0

    def add(self, usage: Usage, cost: float) -> None:
        self.usage += usage
        self.cost += cost
