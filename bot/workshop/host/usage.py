"""How much memory processes hold together, read from the kernel's own books."""

from __future__ import annotations

from collections.abc import Iterable

_HELD = (b"RssAnon:", b"RssShmem:", b"VmSwap:")
_SHARES = (b"Pss_Anon:", b"Pss_Shmem:", b"SwapPss:")


def held(pids: Iterable[int]) -> int:
    """Bytes, of one page as often as there are processes that share it; 15 us a process."""
    return sum(_sum(f"/proc/{pid}/status", _HELD) for pid in pids)


def fairly_held(pids: Iterable[int]) -> int:
    """Bytes, a shared page counted once: the kernel walks the page tables, milliseconds for each GiB. Of a process that
    lets nobody look, what `held` says."""
    return sum(_sum(f"/proc/{pid}/smaps_rollup", _SHARES) or held([pid]) for pid in pids)


def _sum(path: str, names: tuple[bytes, ...]) -> int:
    try:
        with open(path, "rb", buffering=0) as file:
            text = file.read(8192)
    except OSError:
        return 0  # it ended, or does not let us
    total = 0
    for name in names:
        _, found, after = text.partition(name)
        if found:
            total += int(after[: after.find(b"kB")])
    return total * 1024
