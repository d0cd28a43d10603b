"""Assemble the rules to a BPF filter. A call without a rule is allowed; the kernel caches that, so most calls cost
nothing."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bot.workspace.sandbox.seccomp.rules import (
    MACHINES,
    NEWEST,
    NO_SOCKETS,
    PLAIN_SOCKETS,
    REFUSED,
    AnyBit,
    Condition,
    Machine,
    OneOf,
    Rule,
)


def here() -> Machine | None:
    """This machine; `None` where there is no table for it."""
    return MACHINES.get(os.uname().machine)


def filter_for(machine: Machine, *, sockets: bool) -> bytes:
    """The filter's bytes. With `sockets` those of the internet and of files can be made: for where a network
    namespace bounds them."""
    return filter_of(machine, (*REFUSED, *(PLAIN_SOCKETS if sockets else NO_SOCKETS)))


def filter_of(machine: Machine, rules: Sequence[Rule]) -> bytes:
    """The bytes of a filter for `rules`."""
    return assemble(_program(machine, rules))


def _program(machine: Machine, rules: Sequence[Rule]) -> Iterator[Instruction]:
    yield load(ARCHITECTURE)
    yield if_equal(machine.architecture, 1)
    yield answer(KILL)
    yield load(NUMBER)
    yield unless_at_least(NEWEST + 1, 1)  # newer ones, and those of x32
    yield answer(error(errno.ENOSYS))
    for rule in rules:
        for name in rule.calls:
            if (number := machine.calls.get(name)) is not None:
                yield from _refuse(number, rule)
    yield answer(ALLOW)


def _refuse(number: int, rule: Rule) -> Iterator[Instruction]:
    refusal = answer(error(rule.error))
    if rule.when is None:
        yield unless_equal(number, 1)
        yield refusal
        return
    looking = [refusal]
    for condition in reversed(rule.when if isinstance(rule.when, tuple) else (rule.when,)):
        looking = [*_looking(condition, len(looking)), *looking]
    looking.append(load(NUMBER))
    yield unless_equal(number, len(looking))
    yield from looking


def _looking(when: Condition, rest: int) -> Iterator[Instruction]:
    """Leaves out the `rest` of the rule, so many instructions, unless `when` holds."""
    yield load_argument(when.argument)
    if isinstance(when, AnyBit):
        yield unless_any_bit(when.mask, rest)
    elif isinstance(when, OneOf):
        for left, value in zip(range(len(when.values) - 1, -1, -1), when.values, strict=True):
            # The last one that does not match leaves the rest out, each other leads to the next.
            yield if_equal(value, left) if left else unless_equal(value, rest)
    else:
        yield keep_bits(when.mask)
        for left, value in zip(range(len(when.values) - 1, -1, -1), when.values, strict=True):
            yield if_equal(value, left + rest)


NUMBER = 0
ARCHITECTURE = 4
MAX_INSTRUCTIONS = 4096

ALLOW = 0x7FFF0000
KILL = 0x80000000
"""Ends the whole process, not the one thread."""

_LOAD_WORD = 0x20
_JUMP_IF_EQUAL = 0x15
_JUMP_IF_AT_LEAST = 0x35
_JUMP_IF_ANY_BIT = 0x45
_AND = 0x54
_RETURN = 0x06


class Instruction(NamedTuple):
    """`yes` and `no` are how many instructions a jump leaves out."""

    code: int
    yes: int
    no: int
    value: int


def load(offset: int) -> Instruction:
    return Instruction(_LOAD_WORD, 0, 0, offset)


def load_argument(index: int) -> Instruction:
    """The lower half: all that the kernel looks at in an argument that is an `int`."""
    return load(16 + 8 * index)


def keep_bits(mask: int) -> Instruction:
    return Instruction(_AND, 0, 0, mask)


def answer(value: int) -> Instruction:
    return Instruction(_RETURN, 0, 0, value)


def error(number: int) -> int:
    """The answer by which a call fails with this error, without being made."""
    return 0x00050000 | number


def unless_equal(value: int, skip: int) -> Instruction:
    return Instruction(_JUMP_IF_EQUAL, 0, skip, value)


def if_equal(value: int, skip: int) -> Instruction:
    return Instruction(_JUMP_IF_EQUAL, skip, 0, value)


def unless_at_least(value: int, skip: int) -> Instruction:
    return Instruction(_JUMP_IF_AT_LEAST, 0, skip, value)


def unless_any_bit(mask: int, skip: int) -> Instruction:
    return Instruction(_JUMP_IF_ANY_BIT, 0, skip, mask)


def assemble(program: Iterable[Instruction]) -> bytes:
    """An array of `struct sock_filter`. Raises `ValueError` for a program that the kernel would not take."""
    instructions = list(program)
    if not 0 < len(instructions) <= MAX_INSTRUCTIONS:
        raise ValueError(f"a filter of {len(instructions)} instructions")
    for index, instruction in enumerate(instructions):
        if index + max(instruction.yes, instruction.no) + 1 >= len(instructions) and not _ends(instruction):
            raise ValueError(f"instruction {index} leads out of the filter")
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in instructions)


def _ends(instruction: Instruction) -> bool:
    return instruction.code == _RETURN
