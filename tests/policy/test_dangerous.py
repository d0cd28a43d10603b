"""The built-in list of dangerous commands: what it denies, what it leaves alone, and how a policy lifts a line."""

import pytest

from bot.contracts.request import Tier
from bot.policy.dangerous import NAMES, dangerous
from bot.policy.decide import decide
from bot.policy.load import load_policy
from bot.policy.rule import Effect

ROOT = "/srv/repo"
DENIED = {
    "delete-all": [
        "rm -rf /", "rm -rf /*", "rm -rf .", "rm -rf *", "rm -rf ./*", "rm -r -f ~/", 'rm -rf "$HOME"', "rm -R .git",
        f"rm --recursive {ROOT}", f"cd src; rm -rf {ROOT}/.git", "rm -rf build ..", "/bin/rm -fr .",
        "cd /tmp/x; rm -rf /", f"cd $TMPDIR && rm -rf {ROOT}", "cd /tmp; rm -rf ~/*", 'rm -rf "$PWD"', "rm -rf .*",
        "rm -rf ${PWD}/.git",
    ],
    "sudo": ["sudo apt-get install x", "FOO=1 sudo ls", "ls && sudo ls", "doas ls", "cd /tmp && sudo ls"],
    "git-push": ["git push", "/usr/bin/git push -f > log", "git -C src push", "git -c a.b=c push"],
    "git-commit": ["git commit -m 'a; b'", "git add -A\ngit commit -am x", "git --no-pager commit",
                   f"cd /tmp && cd {ROOT} && git commit -m x", "cd /tmp; cd -; git commit -m x"],
    "git-reset-hard": ["git reset --hard", "git stash; git reset -q --hard HEAD~1"],
    "git-clean": ["git clean -fdx", "git clean -f -d -X"],
}  # fmt: skip
LEFT_ALONE = [
    "rm -rf build dist", "rm x.py", "rm -rf /tmp/x", "cd /tmp/x && rm -rf .git", "cd $TMPDIR/x; git commit -m x",
    "git -C /tmp/x commit -m x", "git --git-dir=/tmp/x/.git push", "cd .. && git commit -m x", "echo git push",
    "echo 'git push'", "git stash push", "git log --grep commit", "git reset HEAD~", "git clean -nfdx", "git clean -fd",
    "cd $TMPDIR && git init r && cd r && git commit -m x", "cd /tmp/x; cd ..; rm -rf *", "cd; git commit -m x",
    "git commit --help", "git push --dry-run", "curl x | sh",
    "cat <<EOF\nrm -rf /\nEOF", "git status # git push", "x=$(git commit -m x)", "a() { b; }",
    "echo 'open", "", "mkdir mkfs; rm -r mkfs", "pip install sudo",
]  # fmt: skip


@pytest.mark.parametrize(("name", "command"), [(name, one) for name in DENIED for one in DENIED[name]])
def test_a_dangerous_command_is_denied_by_name_and_lifted_by_name(name: str, command: str):
    found = dangerous(command, ROOT)
    assert found is not None and found.name == name
    assert dangerous(command, ROOT, [name]) is None


def test_each_rule_has_an_example():
    assert sorted(DENIED) == sorted(NAMES)


@pytest.mark.parametrize("command", LEFT_ALONE)
def test_what_is_not_plainly_dangerous_here_is_left_alone(command: str):
    assert dangerous(command, ROOT) is None


@pytest.mark.parametrize("command", ["git commit -m x", "rm -rf *", "cd r; git reset --hard"])
def test_where_commands_run_outside_of_the_work_tree_git_and_relative_paths_are_left_alone(command: str):
    assert dangerous(command, ROOT) is not None
    assert dangerous(command, ROOT, outside=True) is None


@pytest.mark.parametrize("command", ["rm -rf /", f"rm -rf {ROOT}", "sudo ls", f"cd {ROOT}; git push"])
def test_outside_of_the_work_tree_the_machine_and_the_tree_itself_are_not(command: str):
    assert dangerous(command, ROOT, outside=True) is not None


@pytest.mark.parametrize("tier", Tier)
def test_the_list_holds_in_every_tier_with_what_to_do_instead(tier: Tier):
    decision = decide(load_policy(None), tier, "bash", {"command": "git commit -m x"}, root=ROOT)
    assert decision.message == (
        "the built-in rule git-commit denies this: what you changed is committed for you when you are done."
        " Nearest allowed: `git diff` or `git stash`."
    )


@pytest.mark.parametrize(
    "policy",
    ["dangerous: {allow: [git-commit]}", "rules: [{effect: allow, commands: [[git, [add, commit]]]}]"],
    ids=["by name", "by a rule that allows it"],
)
def test_a_policy_lifts_a_rule(policy: str):
    def effect(command: str) -> Effect:
        return decide(load_policy(policy), Tier.MAINTAINER, "bash", {"command": command}).effect

    assert effect("git commit -m x") is Effect.ALLOW
    assert effect("git push") is Effect.DENY


def test_a_rule_of_the_policy_that_denies_is_the_one_that_is_named():
    policy = load_policy("rules: [{effect: deny, commands: [[git]], reason: no git here}]")
    assert decide(policy, Tier.MAINTAINER, "bash", {"command": "git push"}).reason == "no git here"
