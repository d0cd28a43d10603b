"""Classic BPF as seccomp takes it: instructions, and the bytes that they are for the kernel. Pure.

See `linux/filter.h` and `seccomp(2)`. Offsets are those of `struct seccomp_data` on a little-endian machine.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

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
    for place, instruction in enumerate(instructions):
        if place + max(instruction.yes, instruction.no) + 1 >= len(instructions) and not _ends(instruction):
            raise ValueError(f"instruction {place} leads out of the filter")
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in instructions)


def _ends(instruction: Instruction) -> bool:
    return instruction.code == _RETURN
