"""The diff between two commits as a reader needs it: text that git calls binary is shown as text.

For git a file is binary if it has a NUL byte, as UTF-16 has. What a person or a program reads as text, a review must
read too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bot.checkout.git import Git
from bot.checkout.objects import LARGE_FILE, contents, diff_between, diff_of_texts, sizes
from bot.contracts.text_encoding import marked_encoding
from bot.review.diff import Diff, FileDiff, FileStatus, parse_diff

_MAX_BYTES = 8 * LARGE_FILE
_VISIBLE_NUL = "\u2400"
_UNREADABLE = re.compile("[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
_MAX_UNREADABLE = 0.3


def read_diff(git: Git, base: str, head: str) -> Diff:
    """Return the diff from `base` to `head`; a file that is `binary` and has hunks was decoded. Raises `GitError`."""
    diff = parse_diff(diff_between(git, base, head))
    files = list(_within_limits(git, [file for file in diff.files if file.binary]))
    blobs = dict.fromkeys(sha for file in files for sha in file.blobs if sha.strip("0"))
    texts = {sha: _readable(data) for sha, data in zip(blobs, contents(git, list(blobs)), strict=True)}
    pairs = {
        file.path: (texts.get(file.blobs[0]), texts.get(file.blobs[1]))
        for file in files
        if texts.get(file.blobs[file.status is not FileStatus.REMOVED]) is not None
    }
    if not pairs:
        return diff
    decoded = parse_diff(diff_of_texts(git, list(pairs.values())))
    hunks = {path: file.hunks for number, path in enumerate(pairs) if (file := decoded.find(str(number)))}
    return Diff(tuple(replace(file, hunks=hunks.get(file.path, file.hunks)) for file in diff.files))


def _within_limits(git: Git, files: Sequence[FileDiff]) -> Iterator[FileDiff]:
    shas = [sha for file in files for sha in file.blobs]
    known = {sha: 0 for sha in shas if not sha.strip("0")}
    wanted = [sha for sha in dict.fromkeys(shas) if sha not in known]
    known |= zip(wanted, sizes(git, wanted), strict=True)
    left = _MAX_BYTES
    for file in files:
        size = max(known[sha] for sha in file.blobs)
        if size <= min(LARGE_FILE, left):
            left -= size
            yield file


def _readable(data: bytes) -> bytes | None:
    """Return `data` as UTF-8 with a sign for each NUL; `None` if most of it is no text."""
    codec, mark = marked_encoding(data)
    text = data[len(mark) :].decode(codec, "replace")
    if len(_UNREADABLE.findall(text)) > _MAX_UNREADABLE * len(text.replace("\0", "")):
        return None
    return text.replace("\0", _VISIBLE_NUL).encode()
