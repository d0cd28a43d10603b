"""Web addresses in text that leaves: one on the list stays, without its query; every other becomes plain text.

A link may carry words away to whoever owns its host, an image does so without a click. What is not on the list is
shown as it is and broken where a program would begin to read a link. For Markdown outside of code blocks.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

HOSTS = frozenset({"github.com", "docs.github.com"})
"""Where a link of anybody's may lead. An Enterprise Server's own host is added where there is one."""

_BREAK = "\u200b"
# `scheme://`, and what browsers take for it: `https:\\`, `https:/\`.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,31}:(?=[/\\]{2})")
_BARE = re.compile(r"(?<![A-Za-z0-9])(?:www(?=\.)|(?:mailto|xmpp)(?=:))", re.IGNORECASE)
# `[label]:` where a paragraph may begin, in lists and quotations too: what defines a link, or a footnote.
_REFERENCE = re.compile(
    r"^(?:[ \t>*+\-0-9.)]|\[[ xX]\](?!:))*+\[(?:[^\[\]\\]|\\.){1,999}\](?=:)", re.MULTILINE | re.DOTALL
)
_DESTINATION = re.compile(r"\](?=\()")
# In the parentheses of a link that stays: a place on this page, or one on the same host. Letters that mean something
# to Markdown or to a browser (quotes, backslashes, entities, another colon) are in neither.
_NEAR = re.compile(r"\(\s{0,9}<?(?:#[\w./%~+-]*|(?!//)(?!\w*:)[\w./%~+@-]+(?:#[\w./%~+-]*)?)>?\s{0,9}\)")
_QUERY = re.compile(r"\?[^\s<>()\[\]\"'`]*")
_PLACE = r"[\w.~!$&*+,;=:@%/-]*"


def plain_addresses(text: str, hosts: Collection[str] = HOSTS) -> str:
    """`text` with no link, bare, inline or by reference, that leads away from `hosts`. Idempotent."""
    listed = _listed(frozenset(hosts))
    text = _without_queries(text, _whole(frozenset(hosts)))
    text = _BARE.sub(rf"\g<0>{_BREAK}", _REFERENCE.sub(rf"\g<0>{_BREAK}", text))
    text = _DESTINATION.sub(lambda found: _kept_or_broken(found, listed), text)
    return _SCHEME.sub(lambda found: _kept_or_broken(found, listed), text)


def foreign_threads_broken(text: str, repository: str, hosts: Collection[str] = HOSTS) -> str:
    """`text` with no link to an issue, pull request, discussion or commit of another repository than `repository`."""

    def broken(found: re.Match[str]) -> str:
        return found[0] if found[2].lower() == repository.lower() else f"{found[1]}{_BREAK}"

    return _threads(frozenset(hosts)).sub(broken, text)


def _kept_or_broken(found: re.Match[str], listed: re.Pattern[str]) -> str:
    text, end = found.string, found.end()
    if found.group() == "]":
        opened = re.compile(r"\(\s{0,9}<?").match(text, end)
        assert opened is not None, "only looked at before a parenthesis"
        stays = _NEAR.match(text, end) or listed.match(text, opened.end())
    else:
        stays = listed.match(text, found.start())
    return found.group() if stays else f"{found.group()}{_BREAK}"


def _without_queries(text: str, whole: re.Pattern[str]) -> str:
    """Addresses on the list end before their `?`."""
    parts: list[str] = []
    at = 0
    for address in whole.finditer(text):
        query = _QUERY.match(text, address.end()) if address.start() >= at else None
        if query:
            parts.append(text[at : address.end()])
            at = query.end()
    return "".join([*parts, text[at:]])


@lru_cache(maxsize=16)
def _listed(hosts: frozenset[str]) -> re.Pattern[str]:
    """The beginning of an address on one of `hosts`. What follows the host must end it: `github.com.evil` does not."""
    names = "|".join(re.escape(host) for host in sorted(hosts))
    return re.compile(rf"\bhttps?://(?:{names})(?![\w.:@\\%-])", re.IGNORECASE)


@lru_cache(maxsize=16)
def _threads(hosts: frozenset[str]) -> re.Pattern[str]:
    """The scheme of an address of a thread or commit, and the repository that follows it."""
    names = "|".join(re.escape(host) for host in sorted(hosts))
    kinds = "issues|pulls?|discussions|commits?"
    return re.compile(
        rf"\b(https?:)(?=//(?:{names})/([\w.%-]{{1,100}}/[\w.%-]{{1,100}})/(?:{kinds})/)", re.IGNORECASE
    )


@lru_cache(maxsize=16)
def _whole(hosts: frozenset[str]) -> re.Pattern[str]:
    """An address on one of `hosts`, up to its query."""
    return re.compile(rf"{_listed(hosts).pattern}(?:/{_PLACE})?(?:#[\w./%~+-]*)?", re.IGNORECASE)
