"""Each pattern finds its own samples and passes over what only looks a little like them."""

import random
import re
import string
import time

import pytest

from bot.gate.redact import Redactor
from bot.gate.secrets import PATTERNS, REST, credential_kind, withhold_if_secret, without_credentials

_OF = {
    "A": string.ascii_letters + string.digits,
    "U": string.ascii_uppercase + string.digits,
    "h": "0123456789abcdef",
    "d": string.digits,
}


# By kind of credential: texts that are found, and texts that are not. Samples are templates, so that no scanner of this
# repository takes them for keys: `{A36}` stands for 36 letters and digits, `{h32}` for hexadecimal digits.
_Samples = tuple[tuple[str, ...], tuple[str, ...]]
_SAMPLES: dict[str, _Samples] = {
    "GitHub token": (("ghp_{A36}", "github_pat_{A22}_{A59}", "token: ghs_{A300}", "ghs_{A20}.{A20}.{A20}"),
                     ("ghp_short", "github_pat_", "ghp_{A35}", "high_{A36}")),
    "Anthropic key": (("sk-ant-api03-{A93}AA", "sk-ant-oat01-{A80}"),
                      ("sk-ant-api03-", "sk-ant-{A10}", "task-ant-{A24}")),
    "OpenRouter key": (("sk-or-v1-{h64}",), ("sk-or-v1-key", "sk-or-v2")),
    "OpenAI key": (("sk-{A48}", "sk-proj-{A120}", "sk-svcacct-{A60}"),
                   ("sk-learn", "sk-{A20}", "desk-{A48}", "sk-your-key-here-your-key-here-your-key-here")),
    "Groq key": (("gsk_{A52}",), ("gsk_{A30}", "bgsk_{A52}")),
    "xAI key": (("xai-{A80}",), ("xai-{A20}",)),
    "Perplexity key": (("pplx-{A48}",), ("pplx-sonar",)),
    "Replicate token": (("r8_{A37}",), ("r8_{A20}",)),
    "Hugging Face token": (("hf_{A34}",), ("hf_hub_download", "half_{A34}")),
    "Google API key": (("AIza{A35}",), ("AIza{A20}", "xAIza{A35}")),
    "Google client secret": (("GOCSPX-{A28}",), ("GOCSPX-{A8}",)),
    "Google access token": (("ya29.{A120}",), ("ya29.{A8}",)),
    "AWS access key": (("AKIA{U16}", "id=ASIA{U16}."), ("AKIAIOSFODNN7EXAMPLE", "AKIA{U12}", "AKIA{U20}")),
    "Azure storage key": (("AccountName=a;AccountKey={A86}==;",), ("AccountKey=", "AccountKey={A20}==")),
    "Slack token": (("xoxb-{d12}-{d12}-{A24}",), ("xoxb-", "xoxb-{d6}")),
    "Slack webhook": (
        ("https://hooks.slack.com/services/T{U8}/B{U8}/{A24}",),
        ("https://hooks.slack.com/services/",),
    ),
    "Discord webhook": (
        ("https://discord.com/api/webhooks/{d18}/{A68}",),
        ("https://discord.com/api/webhooks/{d18}",),
    ),
    "Telegram bot token": (("{d10}:AA{A33}",), ("{d10}:{A33}A",)),
    "Stripe key": (("sk_live_{A24}", "rk_live_{A99}"), ("sk_test_{A24}",)),
    "Twilio key": (("SK{h32}",), ("SK{h30}", "TASK{h32}", "{h40}")),
    "SendGrid key": (("SG.{A22}.{A43}",), ("SG.{A22}",)),
    "npm token": (("npm_{A36}",), ("npm_config_registry", "npm_{A20}")),
    "PyPI token": (("pypi-AgEIcHlwaS5vcmc{A80}",), ("pypi-simple", "pypi-AgE{A9}")),
    "RubyGems key": (("rubygems_{h48}",), ("rubygems_{h8}",)),
    "crates.io token": (("cio{A32}",), ("cio{A20}", "cio{A40}")),
    "Docker token": (("dckr_pat_{A27}",), ("dckr_pat_{A9}",)),
    "GitLab token": (("glpat-{A20}", "glrt-{A27}"), ("glpat-", "glpat-{A12}")),
    "Atlassian token": (("ATATT3{A180}={U8}",), ("ATATT3{A20}",)),
    "DigitalOcean token": (("dop_v1_{h64}",), ("dop_v1_{h20}",)),
    "Databricks token": (("dapi{h32}", "dapi{h32}-2"), ("dapi{h20}",)),
    "Shopify token": (("shpat_{h32}",), ("shpat_{h12}",)),
    "Linear key": (("lin_api_{A40}",), ("lin_api_{A9}",)),
    "Notion token": (("ntn_{A46}",), ("secret_name",)),
    "Vault token": (("hvs.{A90}",), ("hvs.{A9}",)),
    "Grafana token": (("glsa_{A32}_{h8}",), ("glsa_{A9}",)),
    "New Relic key": (("NRAK-{U27}",), ("NRAK-{U9}",)),
    "Sentry token": (("sntrys_{A120}",), ("sntrys_{A9}",)),
    "Supabase token": (("sbp_{h40}",), ("sbp_{h9}",)),
    "Heroku key": (("HRKU-{A60}",), ("HRKU-{A9}",)),
    "Pulumi token": (("pul-{h40}",), ("pul-{h9}",)),
    "age key": (("AGE-SECRET-KEY-1{U58}",), ("AGE-SECRET-KEY-1",)),
    "web token": (("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx{A20}.{A43}",), ("eyJhbGciOiJIUzI1NiJ9", "eyJ{A20}.{A20}")),
    "private key": (
        (
            "-----BEGIN RSA PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\n{A64}\n{A20}\n-----END PRIVATE KEY-----",
        ),
        ("-----BEGIN PUBLIC KEY-----", "-----BEGIN CERTIFICATE-----"),
    ),
    "password in a URL": (
        ("postgres://app:{A12}@db.internal/app", "https://me:{A20}@git.host.net"),
        (
            "https://example.net:8080/a@b",
            "https://user@host/",
            "http://a:b@c",
            "git@github.com:ada/repo.git",
            "https://example.org/a:b/c@d",
            "postgres://app:${PASSWORD}@db/app",
        ),
    ),
    "authorization header": (
        ("Authorization: Bearer {A40}", "'authorization': 'Basic {A30}='"),
        ("Authorization: Bearer $TOKEN", "Authorization: Bearer <token>", "authorization: basic auth"),
    ),
}  # fmt: skip


def filled(template: str, seed: int = 5) -> str:
    """A sample's text: `{A36}` as 36 letters and digits that nobody chose."""
    draw = random.Random(seed)
    return re.sub(
        r"\{([AUhd])(\d+)\}",
        lambda match: "".join(draw.choice(_OF[match[1]]) for _ in range(int(match[2]))),
        template,
    )


def _cases(side: int) -> list[tuple[str, str]]:
    return [(kind, sample) for kind, sides in _SAMPLES.items() for sample in sides[side]]


@pytest.mark.parametrize(("kind", "sample"), _cases(0), ids=lambda given: str(given)[:40])
def test_each_positive_sample_is_found_and_named(kind: str, sample: str):
    text = filled(sample)
    assert credential_kind(f"see {text} there".encode()) == kind
    assert credential_kind(f'"{text}"'.encode()) == kind
    assert f"[redacted: {kind}]" in without_credentials(f"see {text} there")


@pytest.mark.parametrize(("kind", "sample"), _cases(1), ids=lambda given: str(given)[:40])
def test_each_negative_sample_is_passed_over(kind: str, sample: str):
    assert credential_kind(f"see {filled(sample)} there".encode()) is None


def test_every_pattern_has_samples_of_both_kinds():
    assert list(_SAMPLES) == list(PATTERNS)
    assert all(all(sides) for sides in _SAMPLES.values())


@pytest.mark.parametrize("word", ["EXAMPLE", "your-key", "XXXXXXXX", "fake"])
def test_what_says_that_it_is_none_is_passed_over(word: str):
    token = "ghp_" + (word + "a" * 40)[:36].replace("-", "A")
    assert credential_kind(token.encode()) is None or word == "your-key"


def test_a_key_is_masked_with_its_body():
    body = "\n".join(filled("{A64}", seed) for seed in range(3))
    text = f"before\n-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\nafter"
    assert without_credentials(text) == "before\n[redacted: private key]\nafter"


def test_all_of_a_text_is_masked_and_nothing_else():
    one, two = filled("ghp_{A36}", 1), filled("npm_{A36}", 2)
    assert without_credentials(f"ä {one} ö {two}€") == "ä [redacted: GitHub token] ö [redacted: npm token]€"
    assert without_credentials("ä nothing") == "ä nothing"


@pytest.mark.parametrize(
    "killer", ["-----BEGIN RSA PRIVATE KEY-----\n", "https://a:", "sk-ant-", "eyJ", "SG.a.", "[]("]
)
def test_a51_time_grows_with_the_text_alone(killer: str):
    """A-51: eight times the text takes about eight times as long, whatever it repeats."""
    small, large = (killer * (size // len(killer)) for size in (1 << 16, 1 << 19))
    without_credentials(small)
    assert _seconds(large) < 40 * _seconds(small) + 0.2


@pytest.mark.parametrize(
    "killer", ["-----BEGIN RSA PRIVATE KEY-----\n", "xoxb-1234567890 ", "aa://u:passw0@h "]
)
def test_a51_a_megabyte_of_credentials_is_masked_in_a_fifth_of_a_second(killer: str):
    """A-51, with room for a slow machine."""
    without_credentials(killer)
    assert _seconds(killer * (1_000_000 // len(killer))) < 0.15


def test_after_very_many_finds_the_rest_is_masked():
    text = f"{filled('npm_{A36}', 2)}, \n" * 2_500 + "the end"
    shown = without_credentials(text)
    assert shown.startswith("[redacted: npm token], \n[redacted: npm token]")
    assert shown.endswith(REST)
    assert "the end" not in shown


def _seconds(text: str) -> float:
    best = 9e9
    for _ in range(3):
        began = time.thread_time()
        without_credentials(text)
        best = min(best, time.thread_time() - began)
    return best


def test_withholding_does_not_repeat_the_secret():
    reason = withhold_if_secret("sk-" + "ant-api03-" + "a1B2c3D4" * 8)
    assert reason is not None
    assert "sk-ant" not in reason
    assert withhold_if_secret("nothing here") is None


def test_the_longer_of_two_secrets_wins():
    redactor = Redactor({"SHORT": "abcdefgh", "LONG": "abcdefghijkl"})
    assert redactor.text("abcdefghijkl abcdefgh") == "[redacted LONG] [redacted SHORT]"
