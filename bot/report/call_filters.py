"""The filters of the page: the label of each, and the calls (`timeline.py`) that it shows."""

from collections.abc import Callable, Mapping
from typing import Any

FILTERS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "error": ("Errors", lambda call: call.state not in ("ok", "denied")),
    "denied": ("Denied", lambda call: call.state == "denied"),
    "edit": ("Edits", lambda call: bool(call.changes)),
    "problem": ("New problems", lambda call: call.new_problems > 0),
}
