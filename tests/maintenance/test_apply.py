import pytest

from bot.contracts.errors import UsageError
from bot.contracts.request import Actor, Request, Tier
from bot.maintenance.apply import with_task_instruction, with_task_limits
from bot.maintenance.task import Task, path_of
from bot.policy.decide import decide, may_write
from bot.policy.load import load_policy
from bot.policy.tiers_and_budget import Budget

LINKS = Task("links", "Mend links.", paths=("docs/**", "README.md"), limits=Budget(usd=1, turns=10))
POLICY = load_policy(
    "budget: { usd: 0.5, minutes: 7, check_minutes: 3 }\nrules:\n  - { effect: deny, paths: [docs/old/**] }\n"
)


def request(instruction: str | None = None) -> Request:
    actor = Actor("schedule", 0, Tier.SCHEDULE)
    return Request("fix", instruction, actor, "a/b", "main", "https://github.test/a/b.git", task="links")


def test_the_request_is_in_the_tasks_own_words():
    assert with_task_instruction(request(), LINKS) == request("Mend links.")


def test_what_somebody_wrote_beside_it_comes_after():
    assert (
        with_task_instruction(request("Only in docs/api."), LINKS).instruction
        == "Mend links.\n\nOnly in docs/api."
    )


def test_folders_are_brought_beside_the_policys():
    policy = load_policy("bring: [node_modules]")
    assert with_task_limits(policy, Task("up", "Update.", bring=(".agent-input", "node_modules"))).bring == (
        "node_modules",
        ".agent-input",
    )


@pytest.mark.parametrize(("path", "may"), [("docs/a/b.md", True), ("README.md", True), ("src/a.py", False)])
def test_only_the_tasks_paths_may_change(path: str, may: bool):
    policy = with_task_limits(POLICY, LINKS)
    assert (may_write(policy, Tier.SCHEDULE)(path) is None) is may
    assert decide(policy, Tier.SCHEDULE, "edit", {"path": path}).allowed is may
    assert decide(policy, Tier.SCHEDULE, "view", {"path": path}).allowed


def test_a_denial_names_the_task_and_what_it_may():
    answer = may_write(with_task_limits(POLICY, LINKS), Tier.SCHEDULE)("src/a.py")
    assert answer == "the task links does not let it be written: it may change only docs/**, README.md"


def test_what_the_policy_forbids_stays_forbidden():
    assert may_write(with_task_limits(POLICY, LINKS), Tier.SCHEDULE)("docs/old/a.md")


def test_the_smaller_limit_holds_whoever_sets_it():
    assert with_task_limits(POLICY, LINKS).budget == Budget(usd=0.5, turns=10, minutes=7, check_minutes=3)
    assert with_task_limits(POLICY, LINKS).limits(Tier.SCHEDULE).usd == 0.5


@pytest.mark.parametrize("name", ["../../x", "a/b", "A", "", "a.md", "a\n", "-"])
def test_a_name_from_a_payload_leads_nowhere_else(name: str):
    with pytest.raises(UsageError):
        path_of(name)
