"""Facts about a run's sandbox and its network use."""

from typing import NamedTuple


class Canary(NamedTuple):
    """A probe of something that must be unreachable inside the sandbox. `outside`: reachable without the
    sandbox; false if this machine allows it to nobody. `inside`: reachable inside the sandbox."""

    name: str
    outside: bool
    inside: bool


class SandboxInfo(NamedTuple):
    """`tier` is "T1" (namespaces), "T2" (Landlock: a list of allowed paths) or "none"; `back_end` is its name
    and version. `abi` is the kernel's Landlock version, 0 for none. `notes` are sentences for people: why no
    better tier is used, and what this one does not stop."""

    tier: str
    back_end: str
    kernel: str
    abi: int
    canaries: tuple[Canary, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def described(self) -> str:
        """The back end with its tier, its canaries and the kernel."""
        reached = [canary.name for canary in self.canaries if canary.inside]
        names = f" (reached: {', '.join(reached)})" if reached else ""
        stopped = len(self.canaries) - len(reached)
        canaries = f"{stopped} of {len(self.canaries)} canaries out of reach{names}"
        landlock = f"Landlock ABI {self.abi}" if self.abi else "no Landlock"
        return f"{self.back_end}, {canaries}. Tier {self.tier}; kernel {self.kernel}, {landlock}."


class HostUse(NamedTuple):
    """All CONNECT requests of a run for one host with the same result. `host` is text that is safe to show; empty if it
    could not be parsed. `why` is the reason for a refusal or an early close, empty otherwise. `up` and `down` are
    bytes."""

    host: str
    allowed: bool
    why: str = ""
    tunnels: int = 0
    up: int = 0
    down: int = 0
