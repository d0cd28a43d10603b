"""The job's summary: short, and nothing in it acts whoever wrote it."""

import pytest

from bot.contracts.evidence import ServerUse
from bot.contracts.outcome import Denial
from bot.contracts.sandbox import Canary, SandboxInfo
from bot.github.actions import SUMMARY_LIMIT
from bot.maintenance.due_tasks import Decision
from bot.maintenance.task import read_task
from bot.report.summary import (
    MOST_ROWS,
    dashboards_summary,
    error_summary,
    outcome_summary,
    plan_summary,
    run_summary,
)
from tests.publish.test_body import everything_at_its_longest
from tests.support.outcomes import OUTCOME

EVIL = "x | y\n\n# Done\n<img src=https://evil.test/a.png> ![a](https://evil.test) @everyone ::set-output name=a::b"
SECRET = "ghp_" + "A1b2C3d4" * 5


def test_it_says_how_it_ended_who_asked_what_it_cost_and_where_the_pull_request_is():
    text = run_summary(OUTCOME, "https://github.test/octo/hello/pull/8", ["CI has to be started by hand."])
    assert text.startswith("## Slash Agent: changed\n")
    for part in ("fix, by ann", "6 turns", "$0.0421", "/issues/7", "/pull/8", "- CI has to be started"):
        assert part in text


def test_a_change_that_nothing_verifies_is_called_so_in_the_headline():
    text = run_summary(OUTCOME._replace(checks=()))
    assert text.startswith("## Slash Agent: changed, not verified\n")
    assert "No test was run: no check is configured, and none was found in the repository" in text
    assert "Add the command that runs your tests to" in text


def test_what_others_wrote_is_one_inert_line():
    text = run_summary(OUTCOME._replace(reason=EVIL))
    marked = [line for line in text.splitlines()[1:] if line.startswith(("#", "::"))]
    assert marked == ["### Evidence", "### The run"]
    assert "<img" not in text.replace("\\<img", "")
    assert "![" not in text
    assert "@everyone" not in text


def test_a_line_with_a_secret_is_withheld():
    for text in (
        run_summary(OUTCOME._replace(reason=f"no {SECRET}")),
        outcome_summary("refused", f"no {SECRET}"),
        error_summary("run", f"no {SECRET}"),
    ):
        assert SECRET not in text
        assert "withheld" in text


def test_an_error_stands_in_a_block_that_it_cannot_close():
    text = error_summary("publish", "```\n# Done")
    assert "# Done" not in text.splitlines()
    assert text.startswith("## Slash Agent: publish failed\n")


def test_the_wall_is_there_with_its_tier_its_canaries_and_why_it_is_not_the_better_one():
    canaries = (Canary("TCP", True, False), Canary("io_uring", False, False), Canary("signal", True, True))
    probed = SandboxInfo("T2", "Landlock ABI 5", "6.11.0", 5, canaries, ("bubblewrap is not installed.",))
    text = run_summary(OUTCOME._replace(sandbox_probe=probed)).replace("\\_", "_")
    told = "Landlock ABI 5, 2 of 3 canaries out of reach (reached: signal). Tier T2; kernel 6.11.0, Landlock ABI 5."
    assert f"| sandbox | {told} |" in text
    assert "| sandbox, note | bubblewrap is not installed. |" in text


def test_a_denied_call_is_there_once_with_its_rule():
    call = Denial("bash", "git push | cat", "rules[0]", "publishing is done *for* it")
    others = [Denial("bash", f"git push {number}", "rules[0]", "no") for number in range(7)]
    text = run_summary(OUTCOME._replace(denials=(call, call, *others)))
    assert (
        "| denied | `bash` `git push \\| cat`: publishing is done \\*for\\* it (rule `rules[0]`, 2 times) |"
        in text
    )
    assert text.count("| denied |") == 6
    assert "| denied | 3 more calls, in the report |" in text


def test_a_server_that_was_not_there_is_said_with_its_reason():
    servers = (ServerUse("gopls", "", note="gopls is not installed | here"),)
    text = run_summary(OUTCOME._replace(servers=servers))
    assert "| language server | gopls: gopls is not installed \\\\| here |" in text


@pytest.mark.slow
def test_the_whole_is_far_below_the_limit():
    assert len(run_summary(everything_at_its_longest()).encode()) < SUMMARY_LIMIT / 2


# The summary of a maintenance plan


REPO = "octo/hello"


def decision(name: str, why: str = "It is due.", *, run: bool = True) -> Decision:
    return Decision(read_task("Do it.\n", f".github/agent/{name}.md"), run, why)


def test_what_the_matrix_has_no_room_for_is_left_and_not_said_to_run():
    due = decision("links"), decision("tests"), decision("words", "No.", run=False)
    decided = [(REPO, one) for one in due]
    summary = plan_summary(decided, {(REPO, "links")}, [])
    assert "1 task to run now, 1 left for the next plan, 1 waiting." in summary
    assert "| octo/hello | links | **runs** | It is due. |" in summary
    assert "| octo/hello | tests | left | It is due, and the matrix is full" in summary
    assert "| octo/hello | words | waits | No. |" in summary


def test_a_long_list_is_cut_and_what_runs_stays():
    waiting = [(f"octo/r{n}", decision("links", "Not due.", run=False)) for n in range(MOST_ROWS + 4)]
    summary = plan_summary([*waiting, (REPO, decision("tests"))], {(REPO, "tests")}, [])
    assert summary.count("| waits |") == MOST_ROWS - 1
    assert "| **runs** |" in summary
    assert summary.endswith("5 more tasks: see the log.\n")


def test_other_peoples_words_stay_in_their_cell():
    evil = "a | b |\n| c\n# Head\n<img src=x> ::error::x ghp_" + "a1B2" * 9
    summary = plan_summary([(REPO, decision("links", evil, run=False))], set(), [evil, "<b>@all"])
    [row] = [line for line in summary.splitlines() if "links" in line]
    assert row.count("|") - row.count("\\|") == 5
    assert "ghp_" not in summary
    assert "<b>" not in summary.replace("\\<b", "")
    assert not [line for line in summary.splitlines() if line.startswith("# ")]


def test_dashboards_beyond_the_screen_are_counted():
    summary = dashboards_summary(
        [f"octo/r{n}: no tasks, no dashboard" for n in range(MOST_ROWS + 2)], ["octo/x: gone"]
    )
    assert "- 2 more: see the log." in summary
    assert "- octo/x: gone" in summary
