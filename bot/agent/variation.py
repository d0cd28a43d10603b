"""Says the same in other words now and then, so that a long run of alike results is no rut for the model (S-165).

Only for what went well, never for errors; numbers, paths and what programs read stay as they are. The choice hangs on
the session and on the number of the call alone, and what was chosen is in the journal: a replay takes it from there.
"""

from __future__ import annotations

from typing import NamedTuple
from zlib import crc32


class Variation(NamedTuple):
    """`session` names the session; empty, the first phrasing is always taken, which is plain."""

    session: str = ""

    def pick(self, phrasings: tuple[str, ...], number: int) -> str:
        """One of `phrasings` for call `number`."""
        if not self.session:
            return phrasings[0]
        return phrasings[crc32(f"{self.session}{number}".encode()) % len(phrasings)]
