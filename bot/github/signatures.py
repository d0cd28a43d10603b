"""Signatures of our markers in comments.

A GitHub App's comments are known by their author. Its first comment is written by the workflow's own bot, before the
key is available, and any workflow can write as that bot. When the app edits that comment it signs the marker; without
a valid signature the comment is not ours.
"""

import hmac
import re

from bot.github.values import OWN_MARK

_FIELD = re.compile(r" sig=([0-9a-f]*)")
_LENGTH = 32
"""Hexadecimal digits, so 128 bits."""


class Signer:
    """`key` is the app's private key. A signature holds for one mark in one comment of one repository."""

    def __init__(self, key: str) -> None:
        self._key = key.strip().replace("\\n", "\n").encode()

    def sign(self, repository: str, comment_id: int, body: str) -> str:
        """`body` with its marker signed; unchanged without a marker."""
        mark = OWN_MARK.search(body)
        if mark is None:
            return body
        plain = _FIELD.sub("", mark.group())
        signature = self._signature(repository, comment_id, plain)
        return body[: mark.start()] + plain.replace(" -->", f" sig={signature} -->")

    def verifies(self, repository: str, comment_id: int, body: str) -> bool:
        mark = OWN_MARK.search(body)
        signatures = _FIELD.findall(mark.group()) if mark else []
        if mark is None or len(signatures) != 1:
            return False
        plain = _FIELD.sub("", mark.group())
        return hmac.compare_digest(signatures[0], self._signature(repository, comment_id, plain))

    def _signature(self, repository: str, comment_id: int, mark: str) -> str:
        message = f"slash-agent mark\n{repository.lower()}\n{comment_id}\n{mark.strip()}"
        return hmac.new(self._key, message.encode(), "sha256").hexdigest()[:_LENGTH]
