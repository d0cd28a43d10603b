"""The filter for every field of every write to GitHub, and a client that has it.

Texts are neutralised where they are built, but this filter does not rely on it. A match here is a bug elsewhere, so a
text with a secret is replaced whole, and a name with one stops the write.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bot.contracts.errors import GateError
from bot.gate.clean_text import break_images, split_code, without_unseen
from bot.gate.links_and_markdown import BREAK, HOSTS, break_foreign_threads, plain_addresses
from bot.gate.redact import Redactor
from bot.github.values import OWN_MARKER

if TYPE_CHECKING:
    from bot.github.client import GitHub

# Fields that people read as text. All others are names that GitHub acts on, and must not be changed.
_PROSE = frozenset({"title", "body", "summary", "message", "description"})
_LINES = frozenset({"title"})
_CONTENT = "content"
_PULL = re.compile(r"/repos/[^/]+/[^/]+/pulls(?:/\d+)?")
_OWN = re.compile(r"/repos/([^/]+/[^/]+)/")
_PLAIN = ("message",)
# Tags that we write: formatting only, with no attribute but `open`.
_OWN_TAG = (
    r"/?(?:details|summary|sub|sup|code|pre|br|hr|kbd|b|i|em|strong|p|h[1-6]|ul|ol|li|table|t[hdr]|thead|tbody|blockquote)"
    r"(?:\s+open)?\s*/?>"
)
_FOREIGN_TAG = re.compile(rf"<(?=[A-Za-z/!?])(?!{_OWN_TAG})(?!{re.escape(OWN_MARKER[1:])})", re.IGNORECASE)
_UNPRINTABLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]"
)


class OutboundFilter:
    """Has the secrets of the job and the hosts that links may lead to. Not thread-safe."""

    def __init__(self, secrets: Mapping[str, str], server_url: str = "") -> None:
        self._redactor = Redactor(secrets)
        own = urlsplit(server_url).netloc.lower()
        self._hosts: Collection[str] = HOSTS | {own} if own else HOSTS

    def withhold(self, text: str) -> str | None:
        """Return why `text` must not leave, as one sentence, or `None`."""
        return self._redactor.withhold(text)

    def __call__(self, path: str, fields: object) -> object:
        """Return the filtered JSON of a write to the API's `path`. Raises `GateError` for a name that may not leave."""
        return self._value(path, "", fields)

    def markdown(self, text: str, *, links: bool = True, repository: str = "") -> str:
        """Return a filtered text that GitHub renders. Without `links`, links are unchanged, except those to threads of
        other repositories than `repository`: GitHub adds a note to a thread that a text links to."""
        if reason := self._redactor.withhold(text):
            mark = text.rstrip().rpartition("\n")[2]
            own_mark = (
                f"\n\n{mark}\n" if mark.startswith(OWN_MARKER) and not self._redactor.withhold(mark) else ""
            )
            return f"({reason[0].upper()}{reason[1:]}.){own_mark}"
        return "".join(
            part if is_code else self._rendered(part, links, repository) for is_code, part in split_code(text)
        )

    def _rendered(self, text: str, links: bool, repository: str) -> str:
        seen = _without_comments(without_unseen(text))
        broken = break_images(_FOREIGN_TAG.sub(rf"\g<0>{BREAK}", seen))
        near = break_foreign_threads(broken, repository, self._hosts)
        return plain_addresses(near, self._hosts) if links else near

    def _value(self, path: str, name: str, value: object) -> object:
        if isinstance(value, str):
            return self._text(path, name, value)
        if isinstance(value, Mapping):
            return {key: self._value(path, str(key), inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._value(path, name, inner) for inner in value]
        return value

    def _text(self, path: str, name: str, text: str) -> str:
        if name not in _PROSE:
            self._check_name(name, text)
            return text
        if name not in _PLAIN and name not in _LINES:
            # A pull request's text contains the repository's own template with its links.
            own = _OWN.match(path)
            return self.markdown(text, links=_PULL.fullmatch(path) is None, repository=own[1] if own else "")
        if reason := self._redactor.withhold(text):
            return f"({reason})"
        seen = without_unseen(text)
        return " ".join(seen.split()) if name in _LINES else seen

    def _check_name(self, name: str, text: str) -> None:
        if name == _CONTENT:
            content = text.encode()
            with suppress(ValueError):  # a blob's, but a tree has text
                content += b"\n" + base64.b64decode(text, validate=True)
            if held := self._redactor.holds_secret(content):
                raise GateError(f"A file that was to be stored on GitHub holds the value of {held}.")
            return
        if _UNPRINTABLE.search(text):
            raise GateError(f"The field {name} of a write to GitHub holds a character that does not show.")
        if reason := self._redactor.withhold(text):
            raise GateError(f"The field {name} of a write to GitHub is {reason}.")


def _without_comments(text: str) -> str:
    """Remove HTML comments other than ours, such as a template's hints. An unclosed one before a comment of ours stays
    and is escaped later."""
    parts: list[str] = []
    at = end_of_last = 0
    while (start := text.find("<!--", at)) >= 0:
        end = text.find("-->", start + 2)
        if end < 0:
            break
        ours = text.find(OWN_MARKER, start + 1, end)
        if ours >= 0:
            at = ours
            continue
        at = end + len("-->")
        if not text.startswith(OWN_MARKER, start):
            parts.append(text[end_of_last:start])
            end_of_last = at
    return "".join([*parts, text[end_of_last:]])


def connect(
    token: str, api_url: str, repository: str, *, secrets: Mapping[str, str], server_url: str = ""
) -> GitHub:
    """Return a client with the filter. `secrets` may not leave, by name; links to `server_url` stay links."""
    from bot.github import client as github

    write_filter = OutboundFilter({**secrets, "token": token}, server_url)
    return github.connect(token, api_url, repository, write_filter=write_filter)
