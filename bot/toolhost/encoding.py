"""Decode and encode files without losing a byte: byte order marks, encodings, line ends.

A text keeps the line ends of its file; no module of this package opens a file in text mode.
"""

import codecs
import hashlib
from typing import NamedTuple

SNIFF = 8192


class NotEncodableError(Exception):
    """Text cannot be written in the file's encoding. The message names the character."""


class Text(NamedTuple):
    """A file's text with what turns it into the same bytes again: UTF-8 with or without a byte order `mark`. `guessed`:
    the encoding is unknown, and Latin-1 preserves every byte, but characters above 127 may be wrong."""

    content: str
    mark: bytes = b""
    guessed: bool = False


def decode(data: bytes) -> Text | None:
    """The text of `data`; `None` for a binary file, as git tells it: for a NUL in the first 8 KiB, and so for UTF-16.
    `encode` gives the same bytes back."""
    if b"\0" in data[:SNIFF] or data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return None
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    try:
        return Text(data[len(mark) :].decode(), mark)
    except UnicodeDecodeError:
        return Text(data.decode("latin-1"), guessed=True)


def encode(text: Text, known: str) -> bytes:
    """The bytes of `text`. Raises `NotEncodableError`.

    In a file whose encoding was guessed, only ASCII and characters that occur in `known` (text that was in the
    file) may be written: for any other character the right bytes are not known.
    """
    if not text.guessed:
        return text.mark + text.content.encode()
    if strange := sorted({c for c in text.content if c > "\x7f"} - set(known)):
        raise NotEncodableError(f'the file is not UTF-8 and nothing says how it writes "{strange[0]}"')
    return text.content.encode("latin-1")


def usual_line_end(content: str) -> str:
    """The more frequent line end, which inserted lines get. A lone carriage return ends no line."""
    return "\r\n" if 2 * content.count("\r\n") > content.count("\n") else "\n"


def encoding_label(text: Text) -> str:
    """For people and models; empty for plain UTF-8."""
    if text.guessed:
        return "encoding unknown, shown as Latin-1"
    return "UTF-8 with byte order mark" if text.mark else ""


def line_ends_label(content: str) -> str:
    """For people and models; empty for plain line feeds."""
    crlf = content.count("\r\n")
    if crlf and crlf < content.count("\n"):
        return "mixed line ends"
    return "CRLF line ends" if crlf else ""


def to_lf(content: str) -> str:
    """`content` with a line feed for each CRLF. A carriage return within a line stays."""
    return content.replace("\r\n", "\n")


def split_lines(content: str) -> list[str]:
    """The lines of LF text without their ends. Unlike `str.splitlines`, only a line feed ends a line."""
    lines = content.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def sha256(data: bytes) -> str:
    """The hash as hexadecimal digits."""
    return hashlib.sha256(data, usedforsecurity=False).hexdigest()
