"""The form of titles that the newest commits show."""

from collections.abc import Sequence

from bot.publish.convention.form import HEADER, SMALL, TYPES, Convention


def observed(subjects: Sequence[str]) -> Convention | None:
    """Return the convention that 18 of the 20 newest `subjects` follow, or that share of at least ten."""
    newest = subjects[:20]
    headers = [header for one in newest if (header := HEADER.fullmatch(one)) and header[1].lower() in TYPES]

    def most(count: int, of: Sequence[object]) -> bool:
        return count * 20 >= 18 * len(of)

    if len(newest) < 10 or not most(len(headers), newest):
        return None
    small = sum(header[4][0].islower() for header in headers)
    return Convention(
        "",
        types=tuple(dict.fromkeys([*(header[1] for header in headers), *TYPES])),
        scope="always" if most(sum(bool(header[2]) for header in headers), headers) else "",
        subjects=(SMALL,) if most(small, headers) else (),
        longest=max(100, *map(len, newest)),
    )
