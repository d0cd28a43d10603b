"""Match credentials in text that leaves.

Known values are matched by `bot.gate.redact`. The patterns are compiled at the first text.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import unquote

import re2

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:TOKEN|KEY|SECRET|CREDENTIALS?|PAT|AUTH)(?:$|_)|PASSW(?:OR)?D|APIKEY|_PWD$"
)
SHORTEST = 8
_LOGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([^/@\s]*:([^/@\s]+))@")
# A setting and no secret, whatever its variable is called: `required`, `/tmp/ssh/agent.7`, `https://host/path`.
_DULL = re.compile(r"[a-z]{1,16}|/[\w./-]+|https?://[^@?#]*")

MOST = 2_000
"""Matches in one text that are masked one by one. A text with more is likely an attack on our time: the rest of it
is masked as a whole."""
REST = "[redacted: the rest; more than 2,000 matches]"


class Span(NamedTuple):
    """Bytes `start` to `end` look like a credential of this kind, or are (a piece of) the secret of this name."""

    start: int
    end: int
    kind: str


def credential_kind(data: bytes) -> str | None:
    """Return the kind of the first credential in `data`, or `None`."""
    span = next(credentials_in(data), None)
    return span.kind if span else None


def without_credentials(text: str) -> str:
    """Return `text` with each credential replaced by `[redacted: KIND]`."""
    data = text.encode("utf-8", "surrogatepass")
    masked = replaced(data, credentials_in(data), "[redacted: {}]")
    return text if masked is data else masked.decode("utf-8", "replace")


def replaced(data: bytes, spans: Iterable[Span], mark: str) -> bytes:
    """Return `data` with `mark` in place of each span, once for adjacent ones of a kind; the same object if there are
    none."""
    parts, end, last = list[bytes](), 0, ""
    for number, span in enumerate(spans):
        if number == MOST:
            return b"".join([*parts, data[end : span.start], REST.encode()])
        if span.start > end or span.kind != last:
            parts += [data[end : span.start], mark.format(span.kind).encode()]
        end, last = span.end, span.kind
    return b"".join([*parts, data[end:]]) if parts else data


def withhold_if_secret(text: str) -> str | None:
    """Return why `text` must not leave, as one sentence, or `None` if it contains no credential."""
    kind = credential_kind(text.encode("utf-8", "surrogatepass"))
    return None if kind is None else f"withheld: it holds what looks like a credential ({kind})"


def credentials_in(data: bytes) -> Iterator[Span]:
    """Yield the credentials in order."""
    search, kinds_of, harmless = _compiled()
    kinds = tuple(PATTERNS)
    kinds_seen: dict[bytes, str] = {}  # a text may repeat one of them a hundred thousand times
    at = 0
    while match := search(data, at):
        start, at = match.span()
        text = data[start:at]
        kind = kinds_seen.get(text)
        if kind is None:
            kind = "" if harmless(text) else kinds[min(kinds_of(text))]
            kinds_seen[text] = kind
        if kind:
            yield Span(start, at, kind)


def search_options() -> Any:  # google-re2 has no types
    """Return the options of google-re2 for a search of bytes by thousands of alternatives."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.longest_match = True
    options.max_mem = 1 << 28
    options.never_capture = True
    return options


@cache
def _compiled():  # type: ignore[no-untyped-def]  # as above
    """Return the search for all patterns in one, the set that tells which pattern a match is of, and the search for
    placeholders."""
    options = search_options()
    union = "|".join(f"(?:{regex})" for regex in PATTERNS.values()).encode()
    kinds = re2.Set.FullMatchSet(options)
    for regex in PATTERNS.values():
        kinds.Add(regex.encode())
    kinds.Compile()
    return re2.compile(union, options).search, kinds.Match, re2.compile(HARMLESS.encode(), options).search


PATTERNS: dict[str, str] = {
    "GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,}|ghs_[A-Za-z0-9_.-]{36,})",
    "Anthropic key": r"\bsk-ant-[A-Za-z0-9_-]{24,}",
    "OpenRouter key": r"\bsk-or-v1-[0-9a-f]{32,}",
    "OpenAI key": r"\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{32,}",
    "Groq key": r"\bgsk_[A-Za-z0-9]{40,}",
    "xAI key": r"\bxai-[A-Za-z0-9]{40,}",
    "Perplexity key": r"\bpplx-[A-Za-z0-9]{40,}",
    "Replicate token": r"\br8_[A-Za-z0-9]{37,}",
    "Hugging Face token": r"\bhf_[A-Za-z0-9]{30,}",
    "Google API key": r"\bAIza[0-9A-Za-z_-]{35}",
    "Google client secret": r"\bGOCSPX-[A-Za-z0-9_-]{28}",
    "Google access token": r"\bya29\.[A-Za-z0-9_-]{30,}",
    "AWS access key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "Azure storage key": r"AccountKey=[A-Za-z0-9+/]{86}==",
    "Slack token": r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    "Slack webhook": r"https://hooks\.slack\.com/services/[A-Za-z0-9/+]{20,}",
    "Discord webhook": r"https://discord(?:app)?\.com/api/webhooks/[0-9]{15,}/[A-Za-z0-9_-]{40,}",
    "Telegram bot token": r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b",
    "Stripe key": r"\b(?:sk|rk)_live_[0-9A-Za-z]{16,}",
    "Twilio key": r"\bSK[0-9a-f]{32}\b",
    "SendGrid key": r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}",
    "npm token": r"\bnpm_[A-Za-z0-9]{36}",
    "PyPI token": r"\bpypi-AgE[A-Za-z0-9_-]{50,}",
    "RubyGems key": r"\brubygems_[0-9a-f]{48}",
    "crates.io token": r"\bcio[A-Za-z0-9]{32}\b",
    "Docker token": r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{27,}",
    "GitLab token": r"\bgl(?:pat|ptt|rt|dt|cbt|ft|soat|oas)-[A-Za-z0-9_-]{20,}",
    "Atlassian token": r"\bATATT3[A-Za-z0-9_=-]{100,}",
    "DigitalOcean token": r"\bdo[opr]_v1_[0-9a-f]{64}",
    "Databricks token": r"\bdapi[0-9a-f]{32}\b",
    "Shopify token": r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    "Linear key": r"\blin_api_[A-Za-z0-9]{40}",
    "Notion token": r"\b(?:secret_[A-Za-z0-9]{43}\b|ntn_[A-Za-z0-9]{46})",
    "Vault token": r"\bhv[sbr]\.[A-Za-z0-9_-]{24,}",
    "Grafana token": r"\bgl(?:sa|c)_[A-Za-z0-9_+/=]{32,}",
    "New Relic key": r"\bNRAK-[A-Z0-9]{27}",
    "Sentry token": r"\bsntry[su]_[A-Za-z0-9_+/=-]{60,}",
    "Supabase token": r"\bsbp_[0-9a-f]{40}",
    "Heroku key": r"\bHRKU-[A-Za-z0-9_-]{36,}",
    "Pulumi token": r"\bpul-[0-9a-f]{40}\b",
    "age key": r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}",
    "web token": r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}",
    "private key": (
        r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{20}[A-Za-z0-9+/=\s\\]*(?:-----END [A-Z0-9 ]{1,50}-----)?)?"
    ),
    "password in a URL": r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@'\"<>]{1,64}:[^\s/@'\"<>]{6,200}@[A-Za-z0-9.-]+",
    "authorization header": (
        r"(?i:\bauthorization)['\"]?\s{0,4}[:=]\s{0,4}['\"]?(?i:basic|bearer|token) [A-Za-z0-9+/_.=-]{16,}"
    ),
}
"""The regular expression of google-re2 for each kind of credential; its samples are in `tests/gate/test_patterns.py`.

Each begins with fixed characters, so that a scan is linear and has few false matches.
"""

HARMLESS = (
    r"(?i)example|placeholder|your[_-]|changeme|dummy|redacted|xxxxx|00000000|fake"
    r"|\*\*\*|\.\.\.|\$\{|\{\{|%\(|<[a-z]"
)
"""Placeholders for credentials in documentation and tests."""


def known_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Name and value of each variable that looks secret by its name, and the password of each address that has one, as
    of a proxy or a database; values under eight characters are not."""
    secrets: dict[str, str] = {}
    for name, value in environment.items():
        if login := _LOGIN.search(value):
            whole, password = login.groups()
            # One too short to be looked for by itself is looked for with the name before it.
            secrets[name] = password if len(password) >= SHORTEST else whole
            if (plain := unquote(password)) != password:
                secrets[f"{name}, decoded"] = plain
        elif len(value) >= SHORTEST and _SECRET_NAME.search(name.upper()):
            is_dull = _DULL.fullmatch(value) and (not value.startswith("/") or os.path.exists(value))
            if not is_dull:
                secrets[name] = value
    return secrets
