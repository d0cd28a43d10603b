"""Text in UTF-16 and UTF-32, by its byte order mark."""

import codecs

# UTF-32's little-endian mark begins with UTF-16's, so it comes first.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def wide_text(data: bytes) -> str | None:
    """Return the text of `data` in UTF-16 or UTF-32, by its mark; `None` if it has no such mark, or is not valid text.

    git, and so GitHub, calls such a file binary.
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            try:
                text = data[len(mark) :].decode(name)
            except UnicodeDecodeError:
                return None
            return None if "\0" in text else text
    return None
