"""The child process of `bot.parsing.parser`: it applies parsers to texts and prints what they return as plain values.

A text may crash it, exhaust its memory or keep it busy: the limits below end it, and the parser starts another.
"""

import importlib
import json
import math
import resource
import sys
import time
from typing import Any

_MEMORY = 512 << 20
_SECONDS = 1
"""CPU time of one text; the system counts whole seconds, so it may be one more."""
_MOST_VALUES = 200_000
_DEEPEST = 50


def main() -> None:
    """Answer each request `[module, function, text]` with `[value, reason]`, in lines of JSON. `reason` is empty, or
    says why the text could not be parsed."""
    _limit(resource.RLIMIT_AS, _MEMORY)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_CORE, 0)
    for line in sys.stdin.buffer:
        _limit(resource.RLIMIT_CPU, math.ceil(time.process_time()) + _SECONDS)
        module, function, text = json.loads(line)
        sys.stdout.write(f"{_answer(getattr(importlib.import_module(module), function), text)}\n")
        sys.stdout.flush()


def _limit(what: int, most: int) -> None:
    _, allowed = resource.getrlimit(what)
    resource.setrlimit(what, (most if allowed == resource.RLIM_INFINITY else min(most, allowed), allowed))


def _answer(function: Any, text: str) -> str:
    try:
        return json.dumps([plain(function(text)), ""])
    except MemoryError:
        raise  # this process is full, and the next text must not suffer from it
    except RecursionError:
        return json.dumps([None, "it is nested too deeply"])
    except Exception as error:  # noqa: BLE001  Parsers raise classes of their own, and have bugs.
        reason = str(error).replace(
            ' in "<unicode string>"', ""
        )  # PyYAML's words for the text that it was given
        return json.dumps([None, " ".join(reason.split())[:300] or type(error).__name__])


def plain(value: Any) -> Any:
    """Return `value` as text, numbers, booleans, lists, and dictionaries with text as keys. Raises `ValueError` for too
    many values, those behind aliases of YAML included, and for values nested too deeply."""
    left = _MOST_VALUES

    def copied(value: Any, depth: int) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise ValueError(f"it has over {_MOST_VALUES:,} values")
        if depth > _DEEPEST:
            raise ValueError(f"it is nested over {_DEEPEST} levels deep")
        if isinstance(value, dict):
            return {str(key): copied(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple | set):
            return [copied(item, depth + 1) for item in value]
        return value if value is None or isinstance(value, str | int | float) else str(value)

    return copied(value, 0)


def yaml_texts(text: str) -> Any:
    """Parse one document of YAML with every scalar as text, as readers of YAML 1.2 and 1.1 see it alike: `on` is a name
    and `false` is "false"."""
    import yaml

    return yaml.load(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))  # noqa: S506 - makes text alone
