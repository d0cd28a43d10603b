"""python -m benchmarks.first_hour.draw: print each language's candidates in the order of the draw.

The nineteen come from the front of the order and the ten unseen from its end. A repository without a snapshot, or whose
own tests do not run in the plain shell, is replaced by the next of its language. `docs/bench-method.md` lists these.
"""

from __future__ import annotations

import hashlib
from itertools import groupby
from pathlib import Path

POOL = Path(__file__).with_name("pool.txt")
# Languages of the draw, with the number among the nineteen and among the ten.
SHARES = {
    "Python": (2, 2), "JavaScript": (2, 1), "TypeScript": (2, 1), "Go": (3, 1), "Rust": (2, 1), "Java": (2, 1),
    "Ruby": (2, 1), "PHP": (2, 1), "C/C++": (2, 1),
}  # fmt: skip


def order(lines: list[str]) -> dict[str, list[str]]:
    """Repositories by language, ordered by the SHA-256 of their line `LANGUAGE OWNER/NAME`."""
    entries = [line for line in lines if line and not line.startswith("#")]
    entries.sort(key=lambda line: (line.split()[0], hashlib.sha256(line.encode()).hexdigest()))
    return {
        key: [line.split()[1] for line in group]
        for key, group in groupby(entries, lambda line: line.split()[0])
    }


def main() -> None:
    for language, names in order(POOL.read_text().splitlines()).items():
        first, last = SHARES[language]
        print(f"{language}: first {first} of {' '.join(names)}; last {last} unseen")


if __name__ == "__main__":
    main()
