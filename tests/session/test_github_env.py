"""A job's environment: the token (an app's before the one that is there too), the report's address, and secrets."""

import base64
from pathlib import Path

import pytest

from bot.contracts.errors import UsageError
from bot.gate.redact import mask_all
from bot.gate.secrets import known_secrets
from bot.github.client import connect
from bot.github.tokens import Access
from bot.publish.body.order_and_footer import Links, small_line
from bot.session.context.github_env import GitHubEnvironment, read_github_environment, signed_in
from slash_forge.forge import ACTIONS_BOT, Forge
from tests.support.apps import make_app


def where(forge: Forge, **more: str) -> GitHubEnvironment:
    urls = {"GITHUB_SERVER_URL": forge.url, "GITHUB_API_URL": forge.api_url}
    return read_github_environment({**urls, "GITHUB_REPOSITORY": "octo/hello", **more})


def test_the_apps_token_is_taken_and_is_for_one_repository():
    with Forge() as forge:
        forge.add_user("octo")
        for name in ("hello", "other"):
            forge.create_repository("octo", name, private=True)
        app = make_app(forge, "octo", {"contents": "read"})
        here = where(
            forge,
            GITHUB_TOKEN="ghs_of_actions",
            SLASH_AGENT_APP_ID=f"{app.id}\n",
            SLASH_AGENT_APP_PRIVATE_KEY=app.key,
        )
        assert app.key.split("\n")[1] not in repr(here)
        for name in ("octo/hello", "octo/other"):
            signed = signed_in(here, name, Access.READ)
            assert signed.minted_secrets == {"GITHUB_APP_TOKEN": signed.token}
            assert signed.token not in repr(signed)
            github = connect(signed.token, forge.api_url, name)
            assert github.repository.name == name
            me = github.me
            assert me is not None
            assert me.login == "my-app[bot]"


@pytest.mark.parametrize(
    ("given", "missing"),
    [("SLASH_AGENT_APP_ID", "private key is empty"), ("SLASH_AGENT_APP_PRIVATE_KEY", "id is empty")],
)
def test_half_an_app_is_a_sentence(given: str, missing: str):
    here = read_github_environment({given: "1", "GITHUB_TOKEN": "ghs_of_actions"})
    with pytest.raises(UsageError, match=missing):
        signed_in(here, "octo/hello", Access.READ)


def test_actions_own_token_is_for_its_repository_and_a_persons_for_what_they_reach():
    with Forge() as forge:
        forge.add_user("ann")
        for name in ("hello", "other"):
            forge.create_repository("octo", name)
        own = forge.token(ACTIONS_BOT, {"contents": "write"}, repo="octo/hello")
        here = where(forge, GITHUB_TOKEN=own)
        assert signed_in(here, "octo/Hello", Access.PUBLISH).token == own
        with pytest.raises(UsageError, match=r"octo/other is out of reach.*is for octo/hello alone"):
            signed_in(here, "octo/other", Access.READ)
        hers = forge.token("ann", {"contents": "read"})
        assert signed_in(where(forge, GITHUB_TOKEN=hers), "octo/other", Access.READ).token == hers


def test_what_an_entry_of_a_plan_names_must_be_a_repository():
    assert read_github_environment({"SLASH_AGENT_REPOSITORY": "octo/other"}).acts_for == "octo/other"
    with pytest.raises(UsageError, match="is not a repository as in owner/name"):
        read_github_environment({"SLASH_AGENT_REPOSITORY": "octo/other/../x"})


# The address of the run's report, which the job that runs the agent hands to the one that publishes


RUN = "https://github.com/octo/hello/actions/runs/7"


def report_url(url: str) -> str:
    environment = {"GITHUB_REPOSITORY": "octo/hello", "GITHUB_RUN_ID": "7", "SLASH_AGENT_REPORT_URL": url}
    return read_github_environment(environment).report_url


@pytest.mark.parametrize("end", ["/artifacts/12", "/artifacts/12#download", "#artifacts"])
def test_an_address_of_this_run_is_taken(end: str):
    assert report_url(RUN + end) == RUN + end


@pytest.mark.parametrize(
    "url",
    [
        "",
        RUN,
        f"{RUN}1/artifacts/12",
        f"{RUN}/artifacts/12)[x](https://evil.example",
        f"{RUN}/artifacts/12\n",
        f"{RUN}/artifacts/\u0661",
        "https://evil.example/artifacts/12",
        "https://github.com.evil.example/octo/hello/actions/runs/7/artifacts/12",
    ],
)
def test_any_other_address_is_not_linked(url: str):
    assert report_url(url) == ""


def test_the_link_says_whether_it_opens_the_report_or_downloads_it():
    assert f"[run]({RUN}) · [report]({RUN}/artifacts/12)" in small_line(
        "x", Links(RUN, f"{RUN}/artifacts/12")
    )
    packed = f"{RUN}/artifacts/12#download"
    assert f"[download the report]({packed})" in small_line("x", Links(RUN, packed))
    assert "report" not in small_line("x", Links(RUN))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GITHUB_TOKEN", "ghs_0123456789abcdef"),
        ("ANTHROPIC_API_KEY", "sk-ant-0123456789"),
        ("PGPASSWORD", "correct horse"),
        ("aws_secret_access_key", "a/b+c0123456789"),
        ("SLASH_AGENT_APP_PRIVATE_KEY", "-----BEGIN KEY-----\nabc\n-----END KEY-----"),
        ("SECRET_KEY", "lowercaseonlybutverylong"),
        ("MY_TOKEN", "https://host/path?token=0123456789"),
    ],
)
def test_a_variable_is_secret_by_its_name(name: str, value: str):
    assert known_secrets({name: value}) == {name: value}


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("http://me:pass-word-1@proxy:3128", {"X": "pass-word-1"}),
        ("postgres://app:p%40ss-word@db/app", {"X": "p%40ss-word", "X, decoded": "p@ss-word"}),
        ("http://me:short@proxy:3128", {"X": "me:short"}),
        ("http://me@proxy:3128", {}),
        ("http://proxy:3128", {}),
        ("see https://host/a:b@c", {}),
    ],
)
def test_the_password_of_an_address_is_secret_under_any_name(value: str, found: dict[str, str]):
    assert known_secrets({"X": value}) == found


def test_a_setting_is_no_secret(tmp_path: Path):
    there = tmp_path / "agent.sock"
    there.touch()
    settings = {
        "AUTH": "required",
        "SSH_AUTH_SOCK": str(there),
        "TOKEN": "short",
        "PAT": "https://host.net/path",
    }
    assert known_secrets(settings) == {}
    assert known_secrets({"SSH_AUTH_KEY": "/not/there/at/all0"}) != {}


def test_the_runner_is_asked_to_hide_each_value_and_its_base64():
    hidden: list[str] = []
    token = "ghs_0123456789abcdef"
    mask_all({"GITHUB_TOKEN": token, "SHORT": "1234567"}, hidden.append)
    assert hidden[0] == token
    for before in ("", "a", "ab"):
        written = base64.b64encode(f"{before}{token} and more".encode()).decode()
        assert any(form in written for form in hidden[1:])
    assert not [form for form in hidden if len(form) < 8]
