"""XML from strangers: streamed through expat, without entities of their own."""

from __future__ import annotations

from collections.abc import Callable
from xml.parsers import expat

from bot.workshop.host.reports.files import MIB, ReportError

Begin = Callable[[str, dict[str, str]], None]
End = Callable[[str], None]
Text = Callable[[str], None]

_PIECE = 8 * MIB
"""Large pieces: expat before 2.6 looks at a token that is not whole from its beginning with each of them."""


def parse(content: bytes, begin: Begin, end: End, text: Text | None = None) -> None:
    """Call `begin` and `end` for each element, by its name without a namespace. Raises `ReportError`.

    A document type with declarations of its own is refused, since entities are declared there; one that only names a
    file is passed over, and the file is never fetched.
    """
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda name, attributes: begin(name.rpartition(":")[2], attributes)
    parser.EndElementHandler = lambda name: end(name.rpartition(":")[2])
    parser.StartDoctypeDeclHandler = _doctype
    parser.EntityDeclHandler = _entity
    if text is not None:
        parser.CharacterDataHandler = text
    try:
        view = memoryview(content)
        for start in range(0, len(view), _PIECE):
            parser.Parse(view[start : start + _PIECE], False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise ReportError(f"is no XML: {expat.ErrorString(error.code)} in line {error.lineno}") from error
    except (ValueError, LookupError, UnicodeError) as error:
        raise ReportError("is in an encoding that is not read here") from error
    except RecursionError as error:
        raise ReportError("is nested too deeply") from error


def _doctype(name: str, system: str | None, public: str | None, has_internal_subset: int) -> None:
    if has_internal_subset:
        raise ReportError("declares a document type of its own, and such reports are not read")


def _entity(*_: object) -> None:
    raise ReportError("declares entities, and such reports are not read")
