"""Finds what looks like a credential in text that is about to leave. A short list of vendors' own prefixes.

Not for known values: `bot.gate.redact` knows those by heart.
"""

from __future__ import annotations

import re

# Name and pattern. Each begins with fixed characters, so that a scan stays linear in the text.
_PATTERNS: tuple[tuple[str, str], ...] = (
    ("GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,251}|github_pat_[A-Za-z0-9_]{40,255}|ghs_[A-Za-z0-9_.-]{36,512})"),
    ("Anthropic key", r"\bsk-ant-[A-Za-z0-9_-]{24,200}"),
    ("OpenRouter key", r"\bsk-or-v1-[0-9a-f]{32,128}"),
    ("OpenAI key", r"\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{32,200}"),
    ("Groq key", r"\bgsk_[A-Za-z0-9]{40,80}"),
    ("xAI key", r"\bxai-[A-Za-z0-9]{40,120}"),
    ("Google API key", r"\bAIza[0-9A-Za-z_-]{35}\b"),
    ("Hugging Face token", r"\bhf_[A-Za-z0-9]{30,60}\b"),
    ("AWS access key", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    ("Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,250}"),
    ("Slack webhook", r"https://hooks\.slack\.com/services/[A-Za-z0-9/+]{20,100}"),
    ("Stripe key", r"\b(?:sk|rk)_live_[0-9A-Za-z]{16,247}"),
    ("npm token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("PyPI token", r"\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{40,250}"),
    ("GitLab token", r"\bgl(?:pat|ptt|rt|dt|cbt)-[A-Za-z0-9_-]{20,60}"),
    ("SendGrid key", r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    ("private key", r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"),
    ("password in a URL", r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@'\"<>]{1,64}:[^\s/@'\"<>]{6,200}@[A-Za-z0-9.-]{1,253}"),
    (
        "authorization header",
        r"(?i:\bauthorization)['\"]?\s{0,4}[:=]\s{0,4}['\"]?(?i:basic|bearer) [A-Za-z0-9+/_.=-]{16,2000}",
    ),
)  # fmt: skip
_HARMLESS = re.compile(
    r"(?i)example|placeholder|your[_-]|changeme|dummy|redacted|xxxxx|00000000|\*\*\*|\.\.\.|\$\{|\{\{|%\("
)


def found_secret(text: str) -> str | None:
    """What kind of credential `text` seems to hold, or `None`. Never the credential itself."""
    for kind, pattern in _PATTERNS:
        for match in re.finditer(pattern, text):
            if not _HARMLESS.search(match.group()):
                return kind
    return None


def withhold_if_secret(text: str) -> str | None:
    """Why `text` must not leave, as one sentence, or `None` when nothing in it looks like a credential."""
    kind = found_secret(text)
    return None if kind is None else f"withheld: it holds what looks like a credential ({kind})"
