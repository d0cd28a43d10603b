"""Pieces of the patterns by which an outline finds definitions, one line each."""

from __future__ import annotations

_MODIFIERS = (
    "abstract async data default export final fileprivate inline internal open operator override partial private "
    "protected public readonly sealed static suspend unsafe virtual"
)
_MODIFIED = rf"(?:(?:{'|'.join(_MODIFIERS.split())})\s+)*"
_KEYWORDS = (
    "class interface enum record object struct trait protocol extension namespace module func fun function def type "
    "impl"
)
TYPES = rf"\s*{_MODIFIED}(?:{'|'.join(_KEYWORDS.split())})\s+[\w$~<(]"
NOT_CALLS = r"(?!(?:if|for|while|switch|catch|return|else|do|new|await|throw|case|delete|typeof)\b)"
METHOD = rf"(?:\t| {{2,8}}){NOT_CALLS}{_MODIFIED}(?:[\w<>\[\],.?*]+\s+){{0,3}}[\w$#]+\s*\([^;]*\{{\s*$"

CLASSES = rf"{TYPES}|{METHOD}"
"""Languages with classes in braces."""

MODULES = r"\s*(?:class|module|defmodule|def|defp|(?:local\s+)?function)\s+\S"
