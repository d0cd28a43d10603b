"""From rules to a filter. What no rule names is allowed: the kernel remembers that, so most calls cost nothing."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence

from bot.sandbox.seccomp import assembler as bpf
from bot.sandbox.seccomp.assembler import Instruction
from bot.sandbox.seccomp.rules import NO_SOCKETS, PLAIN_SOCKETS, REFUSED, AnyBit, Condition, OneOf, Rule
from bot.sandbox.seccomp.tables import MACHINES, NEWEST, Machine


def here() -> Machine | None:
    """This machine; `None` where there is no table for it."""
    return MACHINES.get(os.uname().machine)


def filter_for(machine: Machine, *, sockets: bool) -> bytes:
    """The filter's bytes. With `sockets` those of the internet and of files can be made: for where a network
    namespace bounds them."""
    return filter_of(machine, (*REFUSED, *(PLAIN_SOCKETS if sockets else NO_SOCKETS)))


def filter_of(machine: Machine, rules: Sequence[Rule]) -> bytes:
    """The bytes of a filter for `rules`."""
    return bpf.assemble(_program(machine, rules))


def _program(machine: Machine, rules: Sequence[Rule]) -> Iterator[Instruction]:
    yield bpf.load(bpf.ARCHITECTURE)
    yield bpf.if_equal(machine.architecture, 1)
    yield bpf.answer(bpf.KILL)
    yield bpf.load(bpf.NUMBER)
    yield bpf.unless_at_least(NEWEST + 1, 1)  # newer ones, and those of x32
    yield bpf.answer(bpf.error(errno.ENOSYS))
    for rule in rules:
        for name in rule.calls:
            if (number := machine.calls.get(name)) is not None:
                yield from _refuse(number, rule)
    yield bpf.answer(bpf.ALLOW)


def _refuse(number: int, rule: Rule) -> Iterator[Instruction]:
    refusal = bpf.answer(bpf.error(rule.error))
    if rule.when is None:
        yield bpf.unless_equal(number, 1)
        yield refusal
        return
    looking = [refusal]
    for condition in reversed(rule.when if isinstance(rule.when, tuple) else (rule.when,)):
        looking = [*_looking(condition, len(looking)), *looking]
    looking.append(bpf.load(bpf.NUMBER))
    yield bpf.unless_equal(number, len(looking))
    yield from looking


def _looking(when: Condition, rest: int) -> Iterator[Instruction]:
    """Leaves out the `rest` of the rule, so many instructions, unless `when` holds."""
    yield bpf.load_argument(when.argument)
    if isinstance(when, AnyBit):
        yield bpf.unless_any_bit(when.mask, rest)
    elif isinstance(when, OneOf):
        for left, value in zip(range(len(when.values) - 1, -1, -1), when.values, strict=True):
            # The last one that does not match leaves the rest out, each other leads to the next.
            yield bpf.if_equal(value, left) if left else bpf.unless_equal(value, rest)
    else:
        yield bpf.keep_bits(when.mask)
        for left, value in zip(range(len(when.values) - 1, -1, -1), when.values, strict=True):
            yield bpf.if_equal(value, left + rest)
