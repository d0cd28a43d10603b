"""What a loaded policy says to one call: the strictest match, who it names, and what it offers instead."""

import time
from typing import Any

import pytest

from bot.contracts.request import Tier
from bot.policy.dangerous import NAMES, dangerous
from bot.policy.decide import Decision, allows_commands, decide, may_write
from bot.policy.load import load_policy
from bot.policy.rule import Effect
from bot.policy.settings import Policy
from bot.policy.shell import parse_shell

RULES = """\
rules:
  - effect: allow
    paths: [src/**]
  - effect: deny
    paths: [docs/**, src/secret.py]
    except: [docs/index.md]
    reason: the release job writes these.
  - effect: ask
    paths: [src/**/*.sql]
    tiers: [maintainer]
  - effect: deny
    paths: [private/**]
    tools: [view, grep, edit, write]
  - effect: deny
    commands: [[git, [push, fetch]], [curl]]
    except: [[git, fetch, --dry-run]]
    reason: there is no network
  - effect: allow
    commands: [[git, status], [pytest]]
"""
OPAQUE = "  - effect: deny\n    opaque: true\n"


def _policy(text: str = RULES) -> Policy:
    return load_policy(text)


def _command(command: str, text: str = RULES) -> Decision:
    return decide(_policy(text), Tier.CONTRIBUTOR, "bash", {"command": command})


def _edit(path: str, tier: Tier = Tier.CONTRIBUTOR, *, can_ask: bool = False) -> Decision:
    return decide(_policy(), tier, "edit", {"path": path}, can_ask=can_ask, root="/tree")


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("README.md", True),
        ("src/secret.py", False),  # the strictest rule, whatever the order
        ("src/other.py", True),
        ("docs/index.md", True),  # an exception
        ("./docs/api.md", False),
        ("src/../docs/api.md", False),
        ("docs//api.md", False),
        ("/tree/docs/api.md", False),
    ],
)
def test_the_strictest_rule_decides_on_a_path_however_it_is_spelled(path: str, allowed: bool):
    assert _edit(path).allowed is allowed


def test_a_denial_reads_as_a_sentence():
    assert _edit("docs/api.md").message == (
        "rules[1] (.github/agent.yml:4) denies this: the release job writes these. "
        "Nearest allowed: `view` of docs/api.md."
    )


def test_a_rule_holds_for_its_tools_only():
    assert decide(_policy(), Tier.MAINTAINER, "view", {"path": "docs/api.md"}).allowed
    assert not decide(_policy(), Tier.MAINTAINER, "view", {"path": "private/key"}).allowed


def test_where_looking_is_denied_too_looking_is_not_offered():
    assert _edit("private/key").nearest == "`edit` under src/**"


def test_a_rule_for_maintainers_holds_for_a_person_at_their_terminal():
    assert not _edit("src/a.sql", Tier.LOCAL).allowed


DENIED = [
    "git push", "git push origin main", "/usr/bin/git push", "ls && git push", "ls | curl x",
    "FOO=1 git push > log", "echo $(curl x)", "if true; then git fetch; fi", "g'i't push",
    "(cd x && git push)", 'git push "$remote" x', "git push &",
]  # fmt: skip


WITHIN = [
    "git -C . push", "git --no-pager push", "git -c a=b -q push", "git --git-dir=x push", "git >x push",
    "GIT=1 git push", "> /dev/null curl x", "\\curl x", "c\\url x", "$'curl' x", "cu\\\nrl x", "! ! curl x",
    "env -i A=b curl x",
    "timeout -k 5 60 curl x", "nice -n 10 curl x", "sudo -u root git push", "xargs -I{} git push {}", "flock /x curl y",
    "time -f x curl y", "exec -a x curl", "command -p curl", "busybox curl x", "find . -execdir sh -c 'git push' ';'",
    "bash -lc 'cd x; git push'", "eval 'git' push", "su -c 'git push' root", "flock x -c 'git push'", "uv run git push",
    "env --split-string='curl x'", "alias p='git push'; p", "git -c alias.x='!git push' x", "git bisect run curl x",
    "git submodule foreach 'git push'", "bash -c \"sh -c 'curl x'\"", "trap 'curl x' EXIT",
    "docker run -it image curl x", "xargs grep curl", "timeout 60 pytest tests/curl",
    "bash <<EOF\ngit push\nEOF\ncurl x",
    "echo '<<a'\ncurl x\na",
    "echo $((1<<a))\ncurl x",
    "curl x # don't", "ls # don't\ncurl x", 'echo "$(curl x)"', "echo `curl x`", "2>/dev/null curl x",
]  # fmt: skip


@pytest.mark.parametrize("command", [*DENIED, *WITHIN])
def test_a_denied_command_is_denied_wherever_it_stands_in_the_line_or_in_another_one(command: str):
    assert _command(command).effect is Effect.DENY


@pytest.mark.parametrize(
    "command", ["npm --silent publish", "npm --tag next publish", "npm -w a --tag=b publish x"]
)
def test_options_before_a_subcommand_hide_it_from_no_rule(command: str):
    text = "rules:\n  - {effect: deny, commands: [[npm, publish]]}\n"
    assert _command(command, text).effect is Effect.DENY
    assert _command("npm publish", text).effect is Effect.DENY


def test_commands_within_commands_are_looked_for_in_bounded_time():
    started = time.thread_time()
    for command in ("find . -exec sh -c 'a b' ';' " * 270, "bash -c " + "'x y; z' " * 900, "sudo -u " * 1000):
        assert len(parse_shell(command).seen) <= 1000
    assert time.thread_time() - started < 10


@pytest.mark.parametrize(
    "command",
    ["git log", "git", "gitk push", "echo git push", "git fetch --dry-run", "git log --grep push", "git stash push",
     "git commit-tree -m push", "find . -name curl", "bash -c 'echo curl'", "cat <<EOF\ngit push\nEOF\n",
     "ls # don't; git push", "echo ';' git push", "python3 -c 'git push'", "sed s/x/curl/ y"],
)  # fmt: skip
def test_other_commands_are_allowed(command: str):
    assert _command(command).allowed


def test_what_is_named_as_the_nearest_is_not_refused_itself():
    allowed = "  - {effect: allow, commands: [[git, [fetch, status]]]}\n"
    text = f"rules:\n{allowed}  - {{effect: deny, commands: [[git, fetch]]}}\n"
    assert _command("git fetch", text).nearest == "`git status`"


def test_an_allowed_line_names_its_rule():
    assert _command("pytest -q && git status").rule == "rules[5] (.github/agent.yml:18)"


@pytest.mark.parametrize("command", ["pytest > x", "pytest && make", "FOO=1 pytest", "./pytest", "pytest $x"])
def test_no_allow_rule_covers_what_is_not_proven(command: str):
    assert _command(command) == Decision(Effect.ALLOW)


def test_a_rule_for_opaque_commands_refuses_what_cannot_be_proven_alone():
    decision = _command("pytest > x", RULES + OPAQUE)
    assert decision.effect is Effect.DENY
    assert decision.nearest == "commands of plain words, joined by && || ; | alone"
    assert _command("ls && pytest -q", RULES + OPAQUE).allowed


def test_the_gate_withholds_what_the_rules_deny():
    why = may_write(_policy(), Tier.CONTRIBUTOR)
    assert why("docs/api.md") == (
        "rules[1] (.github/agent.yml:4) does not let it be written: the release job writes these."
    )
    assert why("docs/index.md") is None
    assert why("src/a.sql") is None


def test_what_is_excepted_by_its_own_name_is_not_covered_by_another_reading_of_it():
    """The gate asks for the name that a file system without case sees as well."""
    rules = "rules:\n  - {effect: deny, paths: ['**'], except: [README.md], reason: no, examples: [a]}\n"
    why = may_write(load_policy(rules), Tier.MAINTAINER)
    assert why("README.md") is None
    assert why("readme.md", "text", "README.md") is None
    assert why("readme.md") is not None
    assert why("invoice.py", "text", "INVOICE.py") is not None


def test_the_gate_withholds_what_nobody_was_there_to_allow():
    assert may_write(_policy(), Tier.MAINTAINER)("src/a.sql") is not None
    assert may_write(_policy(), Tier.LOCAL, {"src/a.sql"})("src/a.sql") is None


def _patch(*rows: str) -> Decision:
    patch = "\n".join(["*** Begin Patch", *rows, "*** End Patch"])
    return decide(_policy(), Tier.CONTRIBUTOR, "patch", {"patch": patch})


def test_the_strictest_rule_of_any_file_decides_on_a_patch():
    rows = ("*** Update File: src/a.py", "-x", "+y", "*** Add File: docs/new.md", "+z")
    assert _patch(*rows[:3]).rule == "rules[0] (.github/agent.yml:2)"
    assert _patch(*rows).message == (
        "rules[1] (.github/agent.yml:4) denies this: the release job writes these. "
        "Nearest allowed: `view` of docs/new.md."
    )


def test_only_headers_name_the_files_of_a_patch():
    assert not _patch("*** Update File: src/a.py", "*** Move to: docs/a.py").allowed
    assert _patch("*** Add File: src/a.md", "+*** Delete File: docs/api.md").allowed


def test_a_rule_about_edit_or_write_is_about_patch_too():
    text = "rules:\n  - effect: deny\n    paths: [docs/**]\n    tools: [write]\n"
    assert not decide(_policy(text), Tier.CONTRIBUTOR, "patch", {"path": "docs/a.md"}).allowed
    viewing = text.replace("write", "view")
    assert decide(_policy(viewing), Tier.CONTRIBUTOR, "patch", {"path": "docs/a.md"}).allowed


@pytest.mark.parametrize("patch", [None, 7, "", "no patch at all"])
def test_a_patch_that_names_no_file_is_judged_when_it_does(patch: object):
    assert decide(_policy(), Tier.CONTRIBUTOR, "patch", {"patch": patch}) == Decision(Effect.ALLOW)


def test_the_built_in_list_judges_commands_alone_and_names_itself():
    policy = load_policy("")
    push = {"command": "git push --force"}
    denied = decide(policy, Tier.MAINTAINER, "bash", push)
    assert denied.effect is Effect.DENY
    assert denied.rule.startswith("the built-in rule ")
    assert denied.reason
    assert decide(policy, Tier.MAINTAINER, "grep", push) == Decision(Effect.ALLOW)
    for odd in ({}, {"command": None}, {"command": ["git", "push", "--force"]}):
        assert decide(policy, Tier.MAINTAINER, "bash", odd) == Decision(Effect.ALLOW)


@pytest.mark.parametrize("can_ask", [True, False])
def test_who_can_be_asked_is_asked_and_else_it_is_denied(can_ask: bool):
    policy = load_policy("rules: [{effect: ask, commands: [[make]], reason: it is dear}]")
    decision = decide(policy, Tier.MAINTAINER, "bash", {"command": "make"}, can_ask=can_ask)
    assert decision.effect is (Effect.ASK if can_ask else Effect.DENY)
    assert ("there is no terminal" in decision.reason) is not can_ask
    assert decision.reason.startswith("it is dear")


@pytest.mark.parametrize(
    ("kind", "key", "path"), [("link", "links", "current"), ("binary", "binaries", "logo.png")]
)
def test_what_a_review_does_not_show_needs_a_key_of_its_own(kind: Any, key: str, path: str):
    refused = may_write(load_policy(""), Tier.MAINTAINER)(path, kind)
    assert refused is not None and f"{key}: [...]" in refused
    other = {"links": "binaries", "binaries": "links"}[key]
    for text, allowed in (
        (f"diff: {{{key}: ['{path}']}}", True),
        (f"diff: {{{key}: ['{path}x']}}", False),
        (f"diff: {{{other}: ['{path}']}}", False),
    ):
        assert (may_write(load_policy(text), Tier.MAINTAINER)(path, kind) is None) is allowed, text


def test_an_approval_lifts_what_asks_and_never_what_denies_or_is_protected():
    rules = "rules: [{effect: ask, paths: [db/**]}, {effect: deny, paths: [db/live/**]}]"
    policy = load_policy(f"{rules}\nagent: {{instructions: [HOUSE.md]}}")
    paths = ("db/a.sql", "db/live/a.sql", "HOUSE.md", "db/b.sql")
    allowed = may_write(policy, Tier.MAINTAINER, paths[:3])
    assert [allowed(path) is None for path in paths] == [True, False, False, False]


@pytest.mark.parametrize(("effect", "tier", "allowed"), [
    ("allow", Tier.MAINTAINER, True), ("ask", Tier.MAINTAINER, False), ("allow", Tier.CONTRIBUTOR, False),
])  # fmt: skip
def test_commands_are_allowed_by_an_allowing_rule_for_the_tier(effect: str, tier: Tier, allowed: bool):
    text = f"rules: [{{effect: {effect}, commands: [[git, status]], tiers: [maintainer]}}]"
    assert allows_commands(load_policy(text), tier) is allowed
    paths = load_policy("rules: [{effect: allow, paths: [src/**]}]")
    assert not allows_commands(paths, tier)


# Dangerous commands


ROOT = "/srv/repo"
DENIED_BY_RULE = {
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


@pytest.mark.parametrize(
    ("name", "command"), [(name, one) for name in DENIED_BY_RULE for one in DENIED_BY_RULE[name]]
)
def test_a_dangerous_command_is_denied_by_name_and_lifted_by_name(name: str, command: str):
    found = dangerous(command, ROOT)
    assert found is not None and found.name == name
    assert dangerous(command, ROOT, [name]) is None


def test_each_rule_has_an_example():
    assert sorted(DENIED_BY_RULE) == sorted(NAMES)


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
