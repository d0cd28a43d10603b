from dataclasses import fields
from pathlib import Path

import pytest

import bot.maintenance
from bot.maintenance.task import Task, TaskWrites, ThreadFilter, is_task_file, read_task
from bot.policy.check_settings import CheckSpec
from bot.policy.policy_error import PolicyError
from bot.policy.tiers_and_budget import Budget

WHOLE = """---
schedule: "0 3 * * 1"
verbs: [fix]
checks:
  - { name: links, command: "./links.sh", timeout: 90s }
paths: ["docs/**", README.md]
labels: [documentation, good first issue]
limits: { usd: 1.5, turns: 20, minutes: 10 }
---

Mend dead links.

---
Not a fence: this is text.
"""


def refused(text: str, path: str = ".github/agent/links.md") -> str:
    with pytest.raises(PolicyError) as caught:
        read_task(text, path)
    return str(caught.value)


def test_a_whole_file():
    task = read_task(WHOLE, ".github/agent/dead-links.md")
    assert (task.name, task.schedule, task.verbs) == ("dead-links", "0 3 * * 1", ("fix",))
    assert task.checks == (CheckSpec("./links.sh", "links", 90.0),)
    assert task.paths == ("docs/**", "README.md")
    assert task.labels == ("documentation", "good first issue")
    assert task.limits == Budget(usd=1.5, turns=20, minutes=10)
    assert task.instruction == "Mend dead links.\n\n---\nNot a fence: this is text."


def test_a_file_without_front_matter_is_an_instruction_started_by_hand():
    task = read_task("Tidy up.\r\nCarefully.\r\n", "tidy.md")
    assert (task.name, task.instruction, task.schedule, task.verbs) == (
        "tidy",
        "Tidy up.\nCarefully.",
        "",
        ("fix",),
    )


@pytest.mark.parametrize(
    ("front", "position", "why"),
    [
        ("scedule: daily", "2:1", "unknown key `scedule`; the nearest known one is `schedule`"),
        ("schedule: fortnightly", "2:11", "five cron fields, or one of hourly, daily, weekly, monthly"),
        ("labels: []\nverbs: [review]", "3:8", "`verbs` takes [fix] only: a task has no thread"),
        ("verbs: [fix, plan]", "2:8", "`verbs` takes [fix] only"),
        ("verbs: [mend]", "2:8", "`verbs` takes [fix] only"),
        ("verbs: fix", "2:8", "`verbs` takes [fix] only"),
        ("verbs: []", "2:8", "`verbs` takes [fix] only"),
        ("verbs: [[fix]]", "2:8", "`verbs` takes [fix] only"),
        ("paths: [/etc]", "2:9", "leave the first / out"),
        ("labels: ['a,b']", "2:9", "labels"),
        ("limits: { usd: -1 }", "2:16", "greater than or equal to 0"),
        ("checks: [{ name: x }]", "2:10", "this has no `command`"),
        ("schedule: [a", "3:1", "not YAML"),
        ("&a [*a]", "2:", ""),
    ],
)
def test_a_mistake_is_named_with_its_place_in_the_file(front: str, position: str, why: str):
    message = refused(f"---\n{front}\n---\nDo it.")
    assert message.startswith(f".github/agent/links.md:{position}")
    assert why in message


@pytest.mark.parametrize("text", ["", "---\nschedule: daily\n---\n", "\n\n", "---\nschedule: daily\nDo it."])
def test_a_file_without_an_instruction_or_an_end_of_its_front_matter_is_refused(text: str):
    assert "instruction" in refused(text) or "no second line" in refused(text)


def test_an_instruction_of_a_megabyte_is_refused():
    assert "over 20000 characters" in refused("x" * 1_000_000)


@pytest.mark.parametrize("name", ["Dead Links", "-a", "a-", "a" * 51, "a\nb", "", "é"])
def test_a_name_that_could_be_no_branch_is_refused(name: str):
    assert "small letters" in refused("Do it.", f".github/agent/{name}.md")


def test_what_is_a_task_file():
    assert [is_task_file(name) for name in ("a.md", "README.md", "a.txt", "a.md.bak")] == [
        True,
        False,
        False,
        False,
    ]


EXAMPLES = Path(bot.maintenance.__file__).parent / "examples"


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.iterdir()))
def test_a_shipped_example_is_a_task_with_a_schedule_and_a_limit(name: str):
    task = read_task((EXAMPLES / name).read_text(), f".github/agent/{name}")
    # What needs a folder from an earlier step of the workflow is started by that workflow.
    assert bool(task.schedule) != bool(task.bring)
    assert task.limits.usd
    assert "change nothing" in " ".join(task.instruction.split())


def test_the_front_matter_in_the_docs_loads_with_every_key_explained():
    page = (Path(__file__).parents[2] / "docs" / "maintenance.md").read_text()
    front = page.split("```yaml\n")[1].split("```")[0]
    assert read_task(f"---\n{front}---\nDo it.", "links.md").limits == Budget(usd=1, turns=30, minutes=15)
    keys = {one.name for one in fields(Task)} - {"name", "instruction"}
    assert [key for key in sorted(keys) if f"{key}:" not in page and f"`{key}`" not in page] == []


def read(*lines: str) -> Task:
    return read_task("\n".join(["---", *lines, "---", "Look after the issues."]), "stale.md")


def test_both_keys():
    task = read(
        "threads: { state: open, kind: all, labels: [bug], without: [pinned], idle_days: 60, limit: 50 }",
        "writes: { comment: 20, label: 40, close: 5, close_pulls: 1, edit: 1, labels: [stale], close_after_days: 7 }",
    )
    assert task.threads == ThreadFilter("open", "all", ("bug",), ("pinned",), 60, 50)
    assert task.writes == TaskWrites(20, 40, 5, 1, 1, ("stale",), 7)
    assert not task.opens_pulls


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["writes: { comment: 1 }"], "says which `threads`"),
        (["threads: {}"], "says what it `writes`"),
        (["threads: {}", "writes: { reply: 1 }"], "unknown key `reply`"),
        (["threads: {}", "writes: { comment: 51 }"], "less than or equal to 50"),
        (["threads: {}", "writes: { label: 1, labels: ['agent:fix'] }"], "starts this bot"),
        (["threads: {}", "writes: { label: 1 }"], "give both or neither"),
        (["threads: {}", "writes: { comment: 1, labels: [stale] }"], "give both or neither"),
        (["threads: {}", "writes: { close: 1 }"], "days after this task commented"),
        (["threads: {}", "writes: { comment: 1 }", "paths: [docs]"], "`paths` means nothing"),
        (["threads: {}", "writes: { comment: 1 }", "labels: [docs]"], "`labels` means nothing"),
        (["threads: { limit: 101 }", "writes: { comment: 1 }"], "less than or equal to 100"),
        (["threads: { state: all }", "writes: { comment: 1 }"], "'open' or 'closed', found `all`"),
    ],
)
def test_a_mistake_is_named_with_its_place(lines: list[str], why: str):
    with pytest.raises(PolicyError, match=r"stale.md:\d+:\d+: ") as caught:
        read(*lines)
    assert why in str(caught.value)


def test_closing_without_a_word_before_has_to_be_asked_for():
    task = read("threads: {}", "writes: { close: 1, close_after_days: 0 }")
    assert task.writes == TaskWrites(close=1, close_after_days=0)
