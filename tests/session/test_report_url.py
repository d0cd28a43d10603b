"""The address of a run's report, which the job that runs the agent hands to the one that publishes."""

from __future__ import annotations

import pytest

from bot.publish.body.title_and_footer import Links, small_line
from bot.session.context.github_env import read_github_environment

RUN = "https://github.com/octo/hello/actions/runs/7"


def report_url(url: str) -> str:
    environment = {"GITHUB_REPOSITORY": "octo/hello", "GITHUB_RUN_ID": "7", "SLASH_AGENT_REPORT_URL": url}
    return read_github_environment(environment).report_url


@pytest.mark.parametrize("end", ["/artifacts/12", "/artifacts/12#download", "#artifacts"])
def test_an_address_of_this_run_is_taken(end: str) -> None:
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
def test_any_other_address_is_not_linked(url: str) -> None:
    assert report_url(url) == ""


def test_the_link_says_whether_it_opens_the_report_or_downloads_it() -> None:
    assert f"[run]({RUN}) · [report]({RUN}/artifacts/12)" in small_line(
        "x", Links(RUN, f"{RUN}/artifacts/12")
    )
    packed = f"{RUN}/artifacts/12#download"
    assert f"[download the report]({packed})" in small_line("x", Links(RUN, packed))
    assert "report" not in small_line("x", Links(RUN))
