"""What is known of the wall that a run had."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Canary:
    """One thing that nobody inside may reach. `outside`: it can be reached where nothing confines; false says that this
    machine allows it to nobody. `inside`: it was reached behind the wall."""

    name: str
    outside: bool
    inside: bool


@dataclass(frozen=True, slots=True)
class Wall:
    """`tier` is "T1" (namespaces), "T2" (a list of what may be opened) or "none", `back_end` names it with its version.
    `abi` is the kernel's version of Landlock, 0 for none. `notes` are sentences for people: why it is not the better
    one, and what it does not stop."""

    tier: str
    back_end: str
    kernel: str
    abi: int
    canaries: tuple[Canary, ...] = ()
    notes: tuple[str, ...] = ()
