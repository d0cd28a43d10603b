"""From `--model provider/name` and variables to a provider."""

import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.errors import ExitCode, UsageError
from bot.contracts.messages import Usage
from bot.providers.connect import connect, default_model
from bot.providers.endpoint import endpoint_of
from bot.providers.models import DEFAULTS, model_info
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
