"""An interpreter for seccomp filters, for filters of other architectures."""

import struct
from collections.abc import Sequence

_FORMAT = struct.Struct("<HBBI")


def run(program: bytes, architecture: int, number: int, arguments: Sequence[int] = ()) -> int:
    """The filter's result for one call. Raises for an invalid program."""
    words = struct.pack("<IIQ6Q", number, architecture, 0, *(*arguments, *(0,) * (6 - len(arguments))))
    instructions = list(_FORMAT.iter_unpack(program))
    position, accumulator = 0, 0
    while True:
        code, if_true, if_false, value = instructions[position]
        position += 1
        match code:
            case 0x20:
                accumulator = int.from_bytes(words[value : value + 4], "little")
            case 0x54:
                accumulator &= value
            case 0x15:
                position += if_true if accumulator == value else if_false
            case 0x35:
                position += if_true if accumulator >= value else if_false
            case 0x45:
                position += if_true if accumulator & value else if_false
            case 0x06:
                return value
            case _:
                raise ValueError(f"an instruction {code:#x} that no filter of ours has")
