"""A small GitHub on loopback: REST under `/api/v3` and git over HTTP, in one process, on one port.

For the demo, for dry runs and for the tests. No package of `bot` imports it, and it imports none.
"""

from slash_forge.forge import Forge

__all__ = ["Forge"]
