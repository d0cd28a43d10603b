"""What this process holds, for tests that nothing of theirs stays behind.

What an earlier test left may still be ending: servers' threads, and connections that nobody refers to any more. So
never compare for equality, and give what is ending its time.
"""

from __future__ import annotations

import gc
import os
import threading


def open_resources() -> tuple[int, int]:
    """Descriptors and threads, without those that only wait to be collected."""
    gc.collect()
    return len(os.listdir("/proc/self/fd")), threading.active_count()


def has_not_grown(before: tuple[int, int]) -> bool:
    return all(now <= then for now, then in zip(open_resources(), before, strict=True))
