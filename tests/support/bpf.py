"""A small machine that runs a seccomp filter over one call, as the kernel would, for filters of other computers."""

from __future__ import annotations

import struct
from collections.abc import Sequence

_FORMAT = struct.Struct("<HBBI")


def run(program: bytes, architecture: int, number: int, arguments: Sequence[int] = ()) -> int:
    """The filter's answer. Raises for what the kernel would refuse to load or what leads out of the program."""
    words = struct.pack("<IIQ6Q", number, architecture, 0, *(*arguments, *(0,) * (6 - len(arguments))))
    instructions = list(_FORMAT.iter_unpack(program))
    place, held = 0, 0
    while True:
        code, yes, no, value = instructions[place]
        place += 1
        match code:
            case 0x20:
                held = int.from_bytes(words[value : value + 4], "little")
            case 0x54:
                held &= value
            case 0x15:
                place += yes if held == value else no
            case 0x35:
                place += yes if held >= value else no
            case 0x45:
                place += yes if held & value else no
            case 0x06:
                return value
            case _:
                raise ValueError(f"an instruction {code:#x} that no filter of ours has")
