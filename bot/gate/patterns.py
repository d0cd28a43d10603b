"""What credentials look like, by the marks that vendors put on theirs. A short list of our own, versioned.

Each pattern begins with fixed characters, so that a scan stays linear and says little that is wrong. Samples are
templates: `{A36}` stands for 36 letters and digits, `{h32}` for hexadecimal digits, so that no scanner of this
repository takes them for keys.
"""

from __future__ import annotations

from typing import NamedTuple

VERSION = 2
"""Raised with every change of the list, so that a report says by which list it was judged."""


class Pattern(NamedTuple):
    """`regex` is google-re2's. `found` are texts that it must find, `passed` texts that it must not."""

    kind: str
    regex: str
    found: tuple[str, ...]
    passed: tuple[str, ...]


PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,}|ghs_[A-Za-z0-9_.-]{36,})",
        ("ghp_{A36}", "github_pat_{A22}_{A59}", "token: ghs_{A300}", "ghs_{A20}.{A20}.{A20}"),
        ("ghp_short", "github_pat_", "ghp_{A35}", "high_{A36}"),
    ),
    Pattern(
        "Anthropic key", r"\bsk-ant-[A-Za-z0-9_-]{24,}",
        ("sk-ant-api03-{A93}AA", "sk-ant-oat01-{A80}"),
        ("sk-ant-api03-", "sk-ant-{A10}", "task-ant-{A24}"),
    ),
    Pattern("OpenRouter key", r"\bsk-or-v1-[0-9a-f]{32,}", ("sk-or-v1-{h64}",), ("sk-or-v1-key", "sk-or-v2")),
    Pattern(
        "OpenAI key", r"\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{32,}",
        ("sk-{A48}", "sk-proj-{A120}", "sk-svcacct-{A60}"),
        ("sk-learn", "sk-{A20}", "desk-{A48}"),
    ),
    Pattern("Groq key", r"\bgsk_[A-Za-z0-9]{40,}", ("gsk_{A52}",), ("gsk_{A30}", "bgsk_{A52}")),
    Pattern("xAI key", r"\bxai-[A-Za-z0-9]{40,}", ("xai-{A80}",), ("xai-{A20}",)),
    Pattern("Perplexity key", r"\bpplx-[A-Za-z0-9]{40,}", ("pplx-{A48}",), ("pplx-sonar",)),
    Pattern("Replicate token", r"\br8_[A-Za-z0-9]{37,}", ("r8_{A37}",), ("r8_{A20}",)),
    Pattern("Hugging Face token", r"\bhf_[A-Za-z0-9]{30,}", ("hf_{A34}",), ("hf_hub_download", "half_{A34}")),
    Pattern("Google API key", r"\bAIza[0-9A-Za-z_-]{35}", ("AIza{A35}",), ("AIza{A20}", "xAIza{A35}")),
    Pattern("Google client secret", r"\bGOCSPX-[A-Za-z0-9_-]{28}", ("GOCSPX-{A28}",), ("GOCSPX-{A8}",)),
    Pattern("Google access token", r"\bya29\.[A-Za-z0-9_-]{30,}", ("ya29.{A120}",), ("ya29.{A8}",)),
    Pattern(
        "AWS access key", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
        ("AKIA{U16}", "id=ASIA{U16}."),
        ("AKIAIOSFODNN7EXAMPLE", "AKIA{U12}", "AKIA{U20}"),
    ),
    Pattern(
        "Azure storage key", r"AccountKey=[A-Za-z0-9+/]{86}==",
        ("AccountName=a;AccountKey={A86}==;",), ("AccountKey=", "AccountKey={A20}=="),
    ),
    Pattern("Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}", ("xoxb-{d12}-{d12}-{A24}",), ("xoxb-", "xoxb-{d6}")),
    Pattern(
        "Slack webhook", r"https://hooks\.slack\.com/services/[A-Za-z0-9/+]{20,}",
        ("https://hooks.slack.com/services/T{U8}/B{U8}/{A24}",), ("https://hooks.slack.com/services/",),
    ),
    Pattern(
        "Discord webhook", r"https://discord(?:app)?\.com/api/webhooks/[0-9]{15,}/[A-Za-z0-9_-]{40,}",
        ("https://discord.com/api/webhooks/{d18}/{A68}",), ("https://discord.com/api/webhooks/{d18}",),
    ),
    Pattern("Telegram bot token", r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b", ("{d10}:AA{A33}",), ("{d10}:{A33}A",)),
    Pattern("Stripe key", r"\b(?:sk|rk)_live_[0-9A-Za-z]{16,}", ("sk_live_{A24}", "rk_live_{A99}"), ("sk_test_{A24}",)),
    Pattern("Twilio key", r"\bSK[0-9a-f]{32}\b", ("SK{h32}",), ("SK{h30}", "TASK{h32}")),
    Pattern("SendGrid key", r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}", ("SG.{A22}.{A43}",), ("SG.{A22}",)),
    Pattern("npm token", r"\bnpm_[A-Za-z0-9]{36}", ("npm_{A36}",), ("npm_config_registry", "npm_{A20}")),
    Pattern(
        "PyPI token", r"\bpypi-AgE[A-Za-z0-9_-]{50,}", ("pypi-AgEIcHlwaS5vcmc{A80}",), ("pypi-simple", "pypi-AgE{A9}")
    ),
    Pattern("RubyGems key", r"\brubygems_[0-9a-f]{48}", ("rubygems_{h48}",), ("rubygems_{h8}",)),
    Pattern("crates.io token", r"\bcio[A-Za-z0-9]{32}\b", ("cio{A32}",), ("cio{A20}", "cio{A40}")),
    Pattern("Docker token", r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{27,}", ("dckr_pat_{A27}",), ("dckr_pat_{A9}",)),
    Pattern(
        "GitLab token", r"\bgl(?:pat|ptt|rt|dt|cbt|ft|soat|oas)-[A-Za-z0-9_-]{20,}",
        ("glpat-{A20}", "glrt-{A27}"), ("glpat-", "glpat-{A12}"),
    ),
    Pattern("Atlassian token", r"\bATATT3[A-Za-z0-9_=-]{100,}", ("ATATT3{A180}={U8}",), ("ATATT3{A20}",)),
    Pattern("DigitalOcean token", r"\bdo[opr]_v1_[0-9a-f]{64}", ("dop_v1_{h64}",), ("dop_v1_{h20}",)),
    Pattern("Databricks token", r"\bdapi[0-9a-f]{32}\b", ("dapi{h32}", "dapi{h32}-2"), ("dapi{h20}",)),
    Pattern("Shopify token", r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}", ("shpat_{h32}",), ("shpat_{h12}",)),
    Pattern("Linear key", r"\blin_api_[A-Za-z0-9]{40}", ("lin_api_{A40}",), ("lin_api_{A9}",)),
    Pattern("Notion token", r"\b(?:secret_[A-Za-z0-9]{43}\b|ntn_[A-Za-z0-9]{46})", ("ntn_{A46}",), ("secret_name",)),
    Pattern("Vault token", r"\bhv[sbr]\.[A-Za-z0-9_-]{24,}", ("hvs.{A90}",), ("hvs.{A9}",)),
    Pattern("Grafana token", r"\bgl(?:sa|c)_[A-Za-z0-9_+/=]{32,}", ("glsa_{A32}_{h8}",), ("glsa_{A9}",)),
    Pattern("New Relic key", r"\bNRAK-[A-Z0-9]{27}", ("NRAK-{U27}",), ("NRAK-{U9}",)),
    Pattern("Sentry token", r"\bsntry[su]_[A-Za-z0-9_+/=-]{60,}", ("sntrys_{A120}",), ("sntrys_{A9}",)),
    Pattern("Supabase token", r"\bsbp_[0-9a-f]{40}", ("sbp_{h40}",), ("sbp_{h9}",)),
    Pattern("Heroku key", r"\bHRKU-[A-Za-z0-9_-]{36,}", ("HRKU-{A60}",), ("HRKU-{A9}",)),
    Pattern("Pulumi token", r"\bpul-[0-9a-f]{40}\b", ("pul-{h40}",), ("pul-{h9}",)),
    Pattern("age key", r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}", ("AGE-SECRET-KEY-1{U58}",), ("AGE-SECRET-KEY-1",)),
    Pattern(
        "web token", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}",
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx{A20}.{A43}",), ("eyJhbGciOiJIUzI1NiJ9", "eyJ{A20}.{A20}"),
    ),
    Pattern(
        "private key",
        r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{20}[A-Za-z0-9+/=\s\\]*(?:-----END [A-Z0-9 ]{1,50}-----)?)?",
        ("-----BEGIN RSA PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n{A64}\n{A20}\n-----END PRIVATE KEY-----"),
        ("-----BEGIN PUBLIC KEY-----", "-----BEGIN CERTIFICATE-----"),
    ),
    Pattern(
        "password in a URL", r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@'\"<>]{1,64}:[^\s/@'\"<>]{6,200}@[A-Za-z0-9.-]+",
        ("postgres://app:{A12}@db.internal/app", "https://me:{A20}@git.host.net"),
        ("https://example.net:8080/a@b", "https://user@host/", "http://a:b@c", "postgres://app:${PASSWORD}@db/app"),
    ),
    Pattern(
        "authorization header",
        r"(?i:\bauthorization)['\"]?\s{0,4}[:=]\s{0,4}['\"]?(?i:basic|bearer|token) [A-Za-z0-9+/_.=-]{16,}",
        ("Authorization: Bearer {A40}", "'authorization': 'Basic {A30}='"),
        ("Authorization: Bearer $TOKEN", "Authorization: Bearer <token>", "authorization: basic auth"),
    ),
)  # fmt: skip

HARMLESS = (
    r"(?i)example|placeholder|your[_-]|changeme|dummy|redacted|xxxxx|00000000|fake"
    r"|\*\*\*|\.\.\.|\$\{|\{\{|%\(|<[a-z]"
)
"""What stands in place of a credential in documentation and tests."""
