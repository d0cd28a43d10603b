"""A YAML text as the JSON value that an editor checks: by YAML 1.2's core types, where our loader has 1.1's."""

import re
from typing import Any

import yaml

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUTH = {word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_WHOLE = re.compile(r"[-+]?[0-9]+")
_DECIMAL = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


def as_json(text: str) -> Any:
    root = yaml.compose(text, yaml.SafeLoader)
    return None if root is None else _value(root)


def _value(node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return {str(key.value): _value(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_value(item) for item in node.value]
    return node.value if isinstance(node, yaml.ScalarNode) and node.style else _plain(node.value)


def _plain(text: str) -> Any:
    if text in _NULL:
        return None
    if text in _TRUTH:
        return _TRUTH[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text
