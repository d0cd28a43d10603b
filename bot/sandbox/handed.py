"""What a back end's program is handed beside its command line: contents behind descriptors that it inherits."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType

Give = Callable[[bytes], str]
"""Takes contents, returns the descriptor's number as it stands on the command line."""


class Handed:
    """Contents in memory, for one program that is started before `close`."""

    def __init__(self) -> None:
        self.descriptors: list[int] = []

    def give(self, content: bytes) -> str:
        descriptor = os.memfd_create("handed", os.MFD_CLOEXEC)
        self.descriptors.append(descriptor)
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return str(descriptor)

    def close(self) -> None:
        while self.descriptors:
            os.close(self.descriptors.pop())

    def __enter__(self) -> Handed:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
