"""From `--model provider/name` and variables to a provider."""

import socket
import subprocess
import sys
import threading
import time
from datetime import date
from pathlib import Path

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.errors import ExitCode, UsageError
from bot.contracts.messages import Usage
from bot.providers.connect import check_model, connect, default_model
from bot.providers.endpoint import endpoint_of
from bot.providers.models import _TABLE, DEFAULTS, end_of, model_info
from bot.providers.retry import RetryPolicy
from bot.providers.vendors import Vendor
from tests.support.model_script import Say, Turn
from tests.support.model_server import ModelServer
from tests.support.provider_runs import MODELS, ask, completed, failed
from tests.support.tls import make_authority

KEY = {"OPENAI_API_KEY": "k"}
SERVER = Vendor("chat", "K", "U", "https://api.example.com/v1")


@pytest.mark.parametrize(
    ("model", "environment", "message"),
    [
        ("anthropic/claude-sonnet-5-5", {}, r"set ANTHROPIC_API_KEY.*slash-agent demo"),
        ("openai/gpt-6.2-sol", {}, r"set OPENAI_API_KEY.*slash-agent demo"),
        ("mistral/large", {}, r"no provider 'mistral'. Known are anthropic, openai, .*ollama"),
        ("opnai/gpt-6.2-sol", {}, r"no provider 'opnai'; did you mean openai/gpt-6.2-sol\?"),
        *((model, KEY, r"provider/name.*for example") for model in ("strange", "openai/", "openai/ ", "")),
        ("gpt-6.2-sol", KEY, r"did you mean openai/gpt-6.2-sol\?"),
        ("claude-sonet-5-5", KEY, r"did you mean anthropic/claude-sonnet-5-5\?"),
        *(
            ("openai/x", {"OPENAI_BASE_URL": url, **KEY}, "OPENAI_BASE_URL is not an http or https URL")
            for url in ("localhost:11434", "ftp://host/v1", "http://", "http://host:port", "https://h:99999")
        ),
        ("openai/x", {"OPENAI_BASE_URL": "http://a..b/v1"}, "OPENAI_BASE_URL is not an http or https URL"),
        *(
            ("openai/gpt-5", {"OPENAI_BASE_URL": url}, "OPENAI_BASE_URL is not a valid URL")
            for url in ("http://\x7f/v1", "http://h/v1\x00")
        ),
        ("openai/x", {**KEY, "SSL_CERT_FILE": "/nowhere.pem"}, r"SSL_CERT_FILE names '/nowhere\.pem'"),
    ],
)
def test_a_mistake_is_named_with_what_to_write_instead(model: str, environment: dict[str, str], message: str):
    with pytest.raises(UsageError, match=message) as caught:
        connect(model, environment)
    assert caught.value.exit_code is ExitCode.USAGE


def test_a_makers_prefix_stays_part_of_the_name():
    provider = connect("openai/meta-llama/llama-4", {"OPENAI_API_KEY": "k"})
    assert provider.info.name == "meta-llama/llama-4"
    provider.close()


def test_the_default_model_is_of_the_provider_that_has_a_key():
    assert default_model({"ANTHROPIC_API_KEY": "k"}) == f"anthropic/{DEFAULTS['anthropic']}"
    assert default_model({"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": " "}) == f"openai/{DEFAULTS['openai']}"


def test_without_any_key_the_default_names_both_variables_and_the_demo():
    with pytest.raises(UsageError, match=r"ANTHROPIC_API_KEY or OPENAI_API_KEY.*slash-agent demo"):
        default_model({"OPENAI_BASE_URL": "http://127.0.0.1:11434/v1"})


@pytest.mark.parametrize("key", ["a\nb", "schlüssel", "a\x00"])
def test_a_key_that_cannot_be_one_is_refused_without_showing_it(key: str):
    with pytest.raises(UsageError, match="OPENAI_API_KEY holds characters") as caught:
        connect("openai/x", {"OPENAI_API_KEY": key})
    assert key not in str(caught.value)


def test_an_endpoint_does_not_show_its_key():
    endpoint = endpoint_of(SERVER, {"K": "sk-secret", "U": "https://user:pw@host/v1?token=t"})
    assert "sk-secret" not in repr(endpoint)
    assert str(endpoint) == "https://host/v1"


@pytest.mark.parametrize(
    ("environment", "proxy"),
    [
        ({}, ""),
        ({"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ({"https_proxy": "http://q:1", "HTTPS_PROXY": "http://p:1"}, "http://q:1"),
        ({"ALL_PROXY": "http://p:1"}, "http://p:1"),
        ({"HTTP_PROXY": "http://p:1"}, ""),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "other, example.com"}, ""),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": ".example.com"}, ""),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, ""),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "ample.com"}, "http://p:1"),
    ],
)
def test_the_usual_proxy_variables_are_obeyed(environment: dict[str, str], proxy: str):
    assert endpoint_of(SERVER, environment).proxy == proxy


def test_a_proxy_is_never_used_for_the_own_machine():
    environment = {"U": "http://127.0.0.1:8000", "HTTP_PROXY": "http://p:1"}
    assert endpoint_of(SERVER, environment).proxy == ""


def test_a_request_goes_through_the_proxy():
    with ModelServer([Say("via proxy")]) as proxy:
        environment = {"OPENAI_BASE_URL": "http://model.invalid/v1", "HTTP_PROXY": proxy.url}
        provider = connect("openai/x", environment)
        end = completed(provider.respond(ask(), CancelToken()))
        provider.close()
        assert proxy.requests[0].path == "http://model.invalid/v1/chat/completions"
    assert end.message.text == "via proxy"


@pytest.mark.parametrize(
    ("model", "base", "path"),
    [
        ("anthropic/x", "/v1/", "/v1/messages"),
        ("openai/x", "/openai/v1?api-version=preview", "/openai/v1/chat/completions?api-version=preview"),
    ],
)
def test_the_base_url_may_have_a_version_and_a_query(model: str, base: str, path: str):
    with ModelServer([Say("ok")]) as server:
        environment = dict.fromkeys(("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"), f"{server.url}{base}")
        provider = connect(model, environment)
        completed(provider.respond(ask(), CancelToken()))
        provider.close()
        assert server.requests[0].path == path


def test_azure_gets_its_key_in_its_own_header_too():
    with ModelServer([Say("ok")]) as proxy:
        url = "http://mine.openai.azure.com/openai/v1"
        provider = connect(
            "openai/x", {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "k", "HTTP_PROXY": proxy.url}
        )
        completed(provider.respond(ask(), CancelToken()))
        provider.close()
        assert proxy.requests[0].headers["api-key"] == "k"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The certificate to trust, and that of a server on localhost with its key."""
    return make_authority(tmp_path_factory.mktemp("tls"), ["localhost"])


@pytest.mark.parametrize("model", MODELS)
def test_a_certificate_nobody_vouches_for_is_refused(model: str, authority: tuple[Path, Path]):
    with ModelServer([Say("secret")], certificate=authority[1]) as server:
        url = f"https://localhost:{server.port}"
        provider = connect(
            model,
            {"OPENAI_BASE_URL": url, "ANTHROPIC_BASE_URL": url},
            policy=RetryPolicy(attempts=2, base=0.0),
        )
        end = provider.respond(ask(), CancelToken())
        provider.close()
        assert server.requests == []
    end = failed(end)
    assert "certificate verify failed" in end.message
    assert "SSL_CERT_FILE" in end.message


@pytest.mark.parametrize("model", MODELS)
def test_a_certificate_of_ones_own_is_trusted_when_named(model: str, authority: tuple[Path, Path]):
    with ModelServer([Say("ok")], certificate=authority[1]) as server:
        url = f"https://localhost:{server.port}"
        names = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL")
        provider = connect(model, {**dict.fromkeys(names, url), "SSL_CERT_FILE": str(authority[0])})
        assert completed(provider.respond(ask(), CancelToken())).message.text == "ok"
        provider.close()


def test_canceling_ends_a_stalled_stream_under_tls_at_once(authority: tuple[Path, Path]):
    cancel = CancelToken()
    with ModelServer([Turn((Say("x" * 500),), pieces=10, stall=1500)], certificate=authority[1]) as server:
        url = f"https://localhost:{server.port}"
        provider = connect("openai/x", {"OPENAI_BASE_URL": url, "SSL_CERT_FILE": str(authority[0])})
        timer = threading.Timer(1.0, cancel.fire, ["signal"])
        timer.start()
        started = time.monotonic()
        end = failed(provider.respond(ask(), cancel))
        timer.join()
        provider.close()
    assert time.monotonic() - started < 60
    assert end.canceled


def test_canceling_ends_a_tls_handshake_that_gets_no_answer():
    cancel = CancelToken()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}"
        provider = connect("openai/x", {"OPENAI_BASE_URL": url})
        timer = threading.Timer(0.3, cancel.fire, ["signal"])
        timer.start()
        started = time.monotonic()
        end = failed(provider.respond(ask(), cancel))
        timer.join()
        provider.close()
    assert time.monotonic() - started < 9
    assert end.canceled


@pytest.mark.parametrize(
    ("model", "package"),
    [
        pytest.param(MODELS[0], "anthropic", marks=pytest.mark.slow),
        (MODELS[1], "openai"),
        pytest.param(MODELS[2], "openai", marks=pytest.mark.slow),
    ],
)
def test_one_vendors_package_is_imported_and_neither_the_other_nor_github_nor_git(model: str, package: str):
    program = (
        "import sys; from bot.providers.connect import connect;"
        "assert not {'anthropic', 'openai', 'pydantic', 'httpx2'} & set(sys.modules);"
        f"connect({model!r}, dict.fromkeys(('ANTHROPIC_BASE_URL', 'OPENAI_BASE_URL'), 'http://127.0.0.1:1'));"
        "print(*sorted({'anthropic', 'openai', 'github', 'git', 'yaml', 'jinja2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [package]


def test_an_unknown_model_on_the_own_machine_costs_nothing():
    for url in ("http://localhost:11434/v1", "http://127.0.0.1:8000/v1", "http://192.168.1.7/v1"):
        provider = connect("openai/qwen", {"OPENAI_BASE_URL": url})
        assert provider.info.cost(Usage(1000, 0, 0, 1000)) == 0.0
        provider.close()


def test_cost_counts_each_kind_of_token_at_its_price():
    info = model_info("claude-sonnet-5-5")
    usage = Usage(input=1_000, cache_read=10_000, cache_write=2_000, output=500, reasoning=400)
    assert info.cost(usage) == pytest.approx((1_000 * 2 + 10_000 * 0.1 + 2_000 * 2.5 + 500 * 10) / 1_000_000)


@pytest.mark.parametrize(("model", "input", "output"), [("gpt-6.2-sol", 2, 10), ("gpt-5.4", 2.5, 15)])
def test_long_prompts_cost_more_where_the_vendor_says_so(model: str, input: float, output: float):
    info = model_info(model)
    short, long = Usage(input=272_000, output=100), Usage(input=272_001, output=100)
    assert info.cost(short) == pytest.approx((272_000 * input + 100 * output) / 1_000_000)
    assert info.cost(long) == pytest.approx((272_001 * input * 2 + 100 * output * 1.5) / 1_000_000)


KEYS = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}
TODAY = date(2026, 11, 27)


@pytest.mark.parametrize(
    ("model", "instead"),
    [
        ("anthropic/claude-3-opus-20240229", "anthropic/claude-opus-5-5"),
        ("anthropic/claude-3-5-sonnet-latest", "anthropic/claude-sonnet-5-5"),
        ("anthropic/claude-3-7-sonnet-20250219", "anthropic/claude-sonnet-5-5"),
        ("anthropic/claude-3-haiku-20240307", "anthropic/claude-haiku-5-5"),
        ("anthropic/claude-opus-4-1-20250805", "anthropic/claude-opus-5-5"),
        ("anthropic/claude-sonnet-4-20250514", "anthropic/claude-sonnet-5-5"),
        ("anthropic/claude-2.1", "anthropic/claude-sonnet-5-5"),
        ("openai/gpt-4-turbo-2024-04-09", "openai/gpt-6.2-sol"),
        ("openai/gpt-4-0613", "openai/gpt-6.2-sol"),
        ("openai/gpt-4o-2024-05-13", "openai/gpt-6.2-sol"),
        ("openai/o4-mini-2025-04-16", "openai/gpt-6.1-terra"),
        ("openai-responses/gpt-4.1-nano", "openai-responses/gpt-6-luna"),
        ("openai-chat/gpt-3.5-turbo-0125", "openai-chat/gpt-6.1-terra"),
    ],
)
def test_an_ended_model_is_refused_with_the_day_and_what_to_use(model: str, instead: str):
    with pytest.raises(UsageError, match=f"ended on 20..-..-..: use {instead} instead"):
        connect(model, KEYS, today=TODAY)


@pytest.mark.parametrize(
    ("model", "last"),
    [
        ("anthropic/claude-sonnet-4-5", date(2026, 11, 29)),
        ("anthropic/claude-opus-4-5-20251101", date(2027, 1, 21)),
        ("openai/gpt-5-mini", date(2026, 12, 10)),
        ("openai/gpt-4o", date(2027, 1, 13)),
    ],
)
def test_a_model_works_up_to_the_day_before(model: str, last: date):
    check_model(model, KEYS, last)
    with pytest.raises(UsageError, match="ended on"):
        check_model(model, KEYS, date.fromordinal(last.toordinal() + 1))


def test_another_server_and_a_cloud_may_keep_a_model():
    with ModelServer([Say("Hi.")]) as server:
        connect("anthropic/claude-opus-4-1", server.environment(), today=TODAY).close()
        connect("openai/gpt-4", server.environment(), today=TODAY).close()
        assert server.requests == []
    check_model("vertex/claude-opus-4-1", {}, TODAY)
    check_model("bedrock/anthropic.claude-3-opus-20240229-v1:0", {}, TODAY)
    azure = {"AZURE_OPENAI_ENDPOINT": "https://us.openai.azure.com", "AZURE_OPENAI_API_KEY": "k"}
    check_model("azure/gpt-4", azure, TODAY)


def test_a_closed_provider_is_refused_with_the_ways_out():
    with pytest.raises(UsageError, match=r"closed on 2026-07-30.*openrouter/"):
        connect("github/openai/gpt-4.1", {"GITHUB_MODELS_TOKEN": "t"})


def test_no_default_and_no_replacement_has_an_end():
    for name in DEFAULTS.values():
        assert end_of(name) is None
    for name in _TABLE:
        end = end_of(name)
        if end is not None:
            assert end_of(end.instead) is None
            assert model_info(end.instead).known
