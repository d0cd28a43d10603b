"""Encode requests and read responses: text that vendors accept."""

import json
import re
from hashlib import sha256
from typing import Any, cast

from bot.contracts.messages import Image, ToolResult

JsonObject = dict[str, Any]
"""An object of a vendor's API, sent or received."""


def dumps(value: Any) -> bytes:
    """Return compact JSON in the order of the keys. Raises `ValueError` for infinities and NaN."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return clean(text).encode()


def clean(text: str) -> str:
    """Return `text` without what vendors answer with 400: lone surrogates and NUL become U+FFFD."""
    if text.isascii():
        return text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        # Through UTF-16, so that two halves that belong together are joined instead of lost.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "\ufffd")


def clean_tree(value: Any) -> Any:
    """Apply `clean` to every string of a request, keys too."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [clean_tree(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): clean_tree(item) for key, item in value.items()}
    return value


def argument_object(raw: str) -> JsonObject | None:
    """Return a call's arguments as an object, `None` if they are anything else. Empty text is `{}`."""
    if not raw.strip():
        return {}
    try:
        value = json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


_USUAL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def fitting_id(id: str, allowed: re.Pattern[str] = _USUAL_ID) -> str:
    """Return `id` if the vendor accepts it, otherwise a deterministic replacement."""
    return id if allowed.fullmatch(id) else "call_" + sha256(id.encode("utf-8", "replace")).hexdigest()[:32]


def dumps_or_empty(value: Any) -> str:
    """Return a server's own JSON, to be sent back later; empty if it cannot be encoded."""
    try:
        return dumps(value).decode()
    except (ValueError, RecursionError):
        return ""


def sendable_arguments(raw: str) -> str:
    """Return a call's arguments word for word. Invalid ones are wrapped, since some servers parse them; the
    model still sees what it wrote."""
    arguments = raw if raw.strip() else "{}"
    if argument_object(arguments) is None:
        arguments = dumps({"INVALID_JSON": arguments}).decode()
    return arguments


def result_text(part: ToolResult) -> str:
    """Return a result for a vendor without an error flag: an error says so in its text."""
    is_named = part.content.lower().startswith("error")
    return f"Error: {part.content}" if part.is_error and not is_named else part.content


def image_note(image: Image) -> str:
    """Return the text that replaces an image for a model without vision."""
    return f"[image: {image.name or 'unnamed'}, {image.media_type}; this model cannot see images]"


def field(value: Any, *names: str) -> Any:
    """Follow `names` into what a server sent; `None` where it left one out or sent another type."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def mapping(value: Any) -> JsonObject:
    """Return `value` if it is an object, else an empty one."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def filter_words(results: Any) -> str:
    """Return the categories of content that a filter of OpenAI's or Azure's names, as a clause; empty for none."""
    names = [name for name, result in mapping(results).items() if mapping(result).get("filtered")]
    return f"filtered for {', '.join(clean(str(name))[:60] for name in names[:9])}" if names else ""


def string(value: Any, *names: str) -> str:
    """Return the text at `names`, as `field` does; empty for anything else."""
    value = field(value, *names)
    return value if isinstance(value, str) else ""


def entries(value: Any, *names: str) -> list[Any]:
    """Return the list at `names`; empty for anything else."""
    value = field(value, *names)
    return value if isinstance(value, list) else []


_MAX_TOKENS = 10**9
"""More than any response has, so that a price stays a number and the run's limits take effect."""


def count(value: Any, otherwise: int = 0) -> int:
    """Return a token count; `otherwise` if it is missing, null (which is not 0) or invalid."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        return otherwise
    return min(value, _MAX_TOKENS)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")
