"""The policy file: what is read, the defaults, and every complaint with its place."""

import contextlib
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.contracts.errors import ExitCode
from bot.contracts.request import Tier
from bot.policy.check_settings import CheckSpec, SetupStep
from bot.policy.load import load_policy
from bot.policy.policy_error import PolicyError
from bot.policy.publish_settings import Identity, PullRequestPolicy
from bot.policy.review_settings import ReviewPolicy
from bot.policy.settings import Policy
from bot.policy.tiers_and_budget import Budget, default_tiers
from bot.policy.triggers import FailedRunsPolicy, MaintenancePolicy
from bot.verbs.registry import NAMES

WHOLE = """\
version: 1
model: anthropic/claude-sonnet-5-5
tiers:
  contributor: {verbs: [fix, review], usd: 2.5, turns: 40, minutes: 15, runs_a_day: 3}
  outsider:
    verbs: []
bots:
  - 49699333
  - {id: 29139614, verbs: [fix]}
budget: {usd: 3, turns: 60}
history: full
on_deny: stop
checks:
  - make test
  - {name: unit, command: pytest -q, timeout: 5m}
setup:
  - command: |
      pip install -e .
      pip check
    timeout: 90
bring: [.venv, ./web/node_modules/]
pull_request: {keyword: Refs, draft: false, sign_off: true, signed: true}
push_to_head: true
forks: pull_request
dispatch: [ci.yml]
thread_author: [review, explain]
review: {on: [opened], drafts: true, max_findings: 5, request_changes: true}
triggers: {labels: {Agent-Fix: fix, "needs review": review}, assignee: our-bot, failed_runs: true}
maintenance: {open_pulls: 2, back_off_days: 30}
identity: {name: Acme bot, email: bot@acme.example}
"""


def _problems(text: str) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        load_policy(text)
    assert caught.value.exit_code is ExitCode.USAGE
    return str(caught.value).splitlines()


def test_a_whole_file_is_read():
    policy = load_policy(WHOLE)
    assert policy.model == "anthropic/claude-sonnet-5-5"
    assert policy.checks == (CheckSpec("make test", "make test", 600), CheckSpec("pytest -q", "unit", 300))
    assert policy.setup == (SetupStep("pip install -e .\npip check\n", 90),)
    assert policy.bring == (".venv", "web/node_modules")
    assert (policy.history, policy.on_deny) == ("full", "stop")
    assert policy.budget == Budget(usd=3, turns=60)
    assert policy.pull_request == PullRequestPolicy("Refs", draft=False, sign_off=True, signed=True)
    assert (policy.push_to_head, policy.forks, policy.dispatch) == (True, "pull_request", ("ci.yml",))
    assert policy.thread_author == {"review", "explain"}
    assert policy.review == ReviewPolicy(frozenset({"opened"}), True, 5, request_changes=True)
    assert policy.triggers.labels == {"agent-fix": "fix", "needs review": "review"}
    assert (policy.triggers.assignee, policy.triggers.failed_runs.people) == ("our-bot", True)
    assert policy.maintenance == MaintenancePolicy(open_pulls=2, back_off_days=30)
    assert policy.identity == Identity("Acme bot", "bot@acme.example")


def test_a_tier_changes_where_the_file_says_so():
    tiers = load_policy(WHOLE).tiers
    contributor = tiers[Tier.CONTRIBUTOR]
    assert contributor.verbs == {"fix", "review"}
    assert (contributor.usd, contributor.turns, contributor.minutes, contributor.runs_a_day) == (
        2.5,
        40,
        15,
        3,
    )
    assert tiers[Tier.OUTSIDER].verbs == frozenset()
    assert tiers[Tier.MAINTAINER] == load_policy(None).tiers[Tier.MAINTAINER]


def test_nothing_is_pushed_or_approved_or_started_where_the_file_does_not_say_so():
    policy = load_policy("version: 1\n")
    assert not (policy.push_to_head or policy.dispatch or policy.thread_author)
    assert policy.forks == "suggestions"
    assert not policy.review.request_changes
    assert not (policy.triggers.labels or policy.triggers.assignee or policy.follow_up)
    assert policy.triggers.failed_runs == FailedRunsPolicy()
    assert (
        {policy.tiers[tier].egress for tier in Tier} == {load_policy("setup: [make]").setup[0].egress} == {()}
    )


def test_a_bot_has_its_own_verbs_or_its_tiers():
    policy = load_policy(WHOLE)
    assert policy.verbs_of_bots == {49699333: policy.tiers[Tier.BOT].verbs, 29139614: {"fix"}}


def test_a_person_at_their_terminal_gets_what_a_maintainer_gets():
    tiers = load_policy("tiers: {maintainer: {usd: 9}}").tiers
    assert tiers[Tier.LOCAL] == tiers[Tier.MAINTAINER]
    assert tiers[Tier.LOCAL].usd == 9


DEFAULTS = {
    Tier.MAINTAINER: (set(NAMES), 5, 80, 30, 50),
    Tier.CONTRIBUTOR: ({"review", "explain", "plan", "status", "help"}, 1, 30, 10, 10),
    Tier.OUTSIDER: ({"help", "status"}, 0.5, 20, 10, 3),
    Tier.BOT: ({"review", "explain", "plan", "status", "help"}, 1, 30, 10, 10),
    Tier.SCHEDULE: (set(NAMES), 2, 60, 30, 20),
    Tier.LOCAL: (set(NAMES), 5, 80, 30, 50),
}


@pytest.mark.parametrize("tier", Tier)
def test_the_defaults_are_the_documented_table(tier: Tier):
    found = load_policy(None).tiers[tier]
    assert (found.verbs, found.usd, found.turns, found.minutes, found.runs_a_day) == DEFAULTS[tier]


@pytest.mark.parametrize("text", ["", "\n", "# nothing yet\n", "---\n", "version: 1\n", "\ufeffversion: 1\n"])
def test_a_file_that_says_nothing_changes_nothing(text: str):
    policy = load_policy(text)
    assert policy.tiers == load_policy(None).tiers
    assert policy.rules == ()


PROBLEMS = {
    "chekcs: []": "1:1: unknown key `chekcs`; the nearest known one is `checks`",
    "version: 1\nversion: 1": "2:1: `version` is given twice",
    "version: 2": "1:10: this should be '1', found `2`",
    "- a": "1:1: this should be a mapping of keys, found a list",
    "checks: make test": ("1:9: this should be a list, found `make test`"),
    "checks: [{name: x}]": "1:10: this has no `command`",
    "checks: [{name: a, command: b}, {name: a, command: c}]": "1:33: a second check has the name `a`",
    "checks: [{command: a, timeout: '5d'}]": (
        "1:32: this should be a time of at most 21,600 seconds, as in 90, 90s, 5m or 1h, found `5d` in quotes"
    ),
    "checks: [{command: a, timout: 5}]": "1:23: unknown key `timout`; the nearest known one is `timeout`",
    "setup: [{command: ''}]": "1:19: this is no command",
    "setup:\n  -\n": "2:4: this is no command",
    "bring: [../x]": "1:9: expected a folder inside the repository, relative to its root",
    "bring: [.git/hooks]": "1:9: the repository's .git is never brought in",
    "tiers: {maintaner: {}}": (
        "1:9: `maintaner` is not one of maintainer, contributor, outsider, bot, schedule; the nearest is `maintainer`"
    ),
    "tiers: {local: {}}": "1:9: `local` is not one of maintainer, contributor, outsider, bot, schedule",
    "tiers: {bot: {verbs: [fxi]}}": (
        "1:23: `fxi` is not one of fix, plan, approve, review, explain, continue, retry, follow, resolve, "
        "update, stop, status, help; the nearest is `fix`"
    ),
    "tiers: {bot: {verbs: fix}}": "1:22: this should be `all` or a list, found `fix`",
    "tiers: {bot: {turns: 0x10}}": "1:22: this should be a valid integer, found `0x10`",
    "tiers: {bot: {turns: }}": "1:22: this should be a valid integer, found nothing",
    "budget: {usd: nan}": "1:15: this should be a finite number, found `nan`",
    "budget: {usd: -1}": "1:15: this should be greater than or equal to 0, found `-1`",
    "tiers: {bot: {egress: [pip]}}": ("1:24: `pip` is not one of python, node, go, rust, java, ruby, dotnet"),
    "history: 0": "1:10: this should be `full` or greater than or equal to 1, found `0`",
    "budget: 5": "1:9: this should be a mapping of keys, found `5`",
    "on_deny: halt": "1:10: this should be 'continue' or 'stop', found `halt`",
    "pull_request: {draft: maybe}": "1:23: this should be `always` or a valid boolean, found `maybe`",
    "options: {models: [gpt]}": (
        "1:20: this should be provider/name, as in anthropic/claude-sonnet-5-5 or openai/*, found `gpt`"
    ),
    "identity: {name: 'a <b>'}": "1:18: this should be a name without < and >, found `a <b>` in quotes",
    'identity: {name: "a\\nb"}': "1:18: this has line ends or control characters",
    "identity: {email: nobody}": "1:19: this should be an address, as in bot@example.org, found `nobody`",
    "bots: ['*']": "1:8: this should be a valid integer, found `*` in quotes",
    "bots: [1, 1]": "1:11: 1 is listed twice",
    "bots: [{verbs: [fix]}]": "1:8: this has no `id`",
    "forks: pull-request": ("1:8: this should be 'suggestions' or 'pull_request', found `pull-request`"),
    "dispatch: [.github/workflows/ci.yml]": (
        "1:12: this should be the name of a file in .github/workflows, as in ci.yml, found "
        "`.github/workflows/ci.yml`"
    ),
    "dispatch: [a.yml, b.yml, c.yml, d.yml, e.yml, f.yml, g.yml, h.yml, i.yml, j.yml, k.yml]": (
        "1:11: at most 10 are listed, and not 11"
    ),
    "thread_author: [fix]": "1:17: `fix` is not one of plan, review, explain",
    "review: {approve: true}": ("1:10: unknown key `approve`: docs/policy.md lists the known ones"),
    "triggers: {labels: {a: fix, A: plan}}": "1:29: `A` is given twice",
    "triggers: {labels: {a: stop}}": (
        "1:24: `stop` is not one of fix, plan, review, explain, resolve, update"
    ),
    "triggers: {assignee: '@bot'}": "1:22: this should be the login of an account, without @, found `@bot` in quotes",
    "model: gpt": "1:8: this should be provider/name, as in anthropic/claude-sonnet-5-5, found `gpt`",
    "model:": "1:7: this is empty",
    "rules: !!python/object:a.b x": "1:8: the tag python/object:a.b means nothing here; leave it out",
    "model: !mine x": "1:8: the tag !mine means nothing here; leave it out",
    "<<: {version: 1}": ("1:1: unknown key `<<`: docs/policy.md lists the known ones"),
    "? [a]\n: b": "1:3: expected text, found a list",
    "checks: [\n": "2:1: not YAML: did not find expected node content",
    "a: b: c": "1:5: not YAML: mapping values are not allowed in this context",
    "checks:\n\t- a": "2:1: not YAML: a tab in the indentation; use spaces",
    "a: \x00": "1:4: not YAML: control characters are not allowed",
    "version: 1\na: \ud800": "2:4: not YAML: half of a surrogate pair",
    "model: *x": "1:8: not YAML: found undefined alias",
    "checks: &a [*a]": "1:9: nested over 16 levels deep with its aliases",
    "version: 1\n---\nversion: 1": "2:1: not YAML: but found another document",
}


@pytest.mark.parametrize("text", PROBLEMS)
def test_a_mistake_is_named_with_its_place(text: str):
    assert _problems(text) == [f".github/agent.yml:{PROBLEMS[text]}"]


def test_all_mistakes_are_named_at_once_in_their_order():
    found = _problems("bring: [/a]\nchekcs: []\nhistory: x\n")
    assert [line.split(":")[1] for line in found] == ["1", "2", "3"]


def test_a_file_over_the_limit_is_refused_unread():
    assert _problems("#" + "x" * 70_000) == [".github/agent.yml:1:1: the file is over 64 kB"]


def test_aliases_that_multiply_are_refused():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 8)]
    assert "values with its aliases" in _problems("\n".join(lines))[0]


def test_an_alias_stands_for_its_anchor():
    policy = load_policy("tiers:\n  bot: &t {usd: 4}\n  contributor: *t\n")
    assert policy.tiers[Tier.CONTRIBUTOR].usd == 4


@pytest.mark.parametrize("key", ["'#/$defs/PathRule'", "'#/$defs/X'", "'[key]'", "''", "'0'"])
def test_a_key_that_looks_like_a_step_of_the_readers_own_is_one_that_is_not_known(key: str):
    for text in (
        "{}: 1",
        "budget: {{{}: 1}}",
        "triggers: {{labels: {{{}: fxi}}}}",
        "rules: [{{paths: [a], {}: 1}}]",
    ):
        assert _problems(text.format(key))


@settings(max_examples=25)
@given(st.text(st.characters(), max_size=200))
def test_no_text_makes_the_reader_raise_anything_else(text: str):
    with contextlib.suppress(PolicyError):
        assert isinstance(load_policy(text), Policy)


def test_a_run_gets_the_least_of_all_limits():
    policy = load_policy("budget: {usd: 3, minutes: 60, tokens: 9, commands: 900, output: 0.5}")
    own = policy.tiers[Tier.MAINTAINER]
    assert policy.limits(Tier.MAINTAINER) == replace(own, usd=3, tokens=9, output=0.5)
    assert (own.turns, own.minutes, own.commands) == (80, 30, 500)


def test_egress_is_named_by_tier_and_by_step():
    policy = load_policy(
        "tiers: {maintainer: {egress: [python, node]}, schedule: {egress: none}}\n"
        "setup: [{command: pip install x, egress: [python]}]\n"
    )
    assert policy.tiers[Tier.MAINTAINER].egress == policy.tiers[Tier.LOCAL].egress == ("python", "node")
    assert policy.tiers[Tier.SCHEDULE].egress == ()
    assert policy.setup[0].egress == ("python",)


def test_a_request_can_lower_its_budget_and_not_raise_it():
    assert load_policy(None).limits(Tier.MAINTAINER, 2).usd == 2
    assert load_policy(None).limits(Tier.MAINTAINER, 500).usd == 5


def test_without_a_file_neither_yaml_nor_the_shell_grammar_is_imported():
    code = (
        "import sys; from bot.policy.load import load_policy; from bot.policy.decide import decide, may_write;"
        "from bot.contracts.request import Tier; p = load_policy(None);"
        "decide(p, Tier.LOCAL, 'bash', {'command': 'ls'}); may_write(p, Tier.LOCAL)('a');"
        "print([m for m in sys.modules if m.split('.')[0] in ('yaml', 'tree_sitter')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_commands_that_may_print_nothing_are_none():
    limits = default_tiers()[Tier.MAINTAINER]
    assert not replace(limits, output=0).runs_commands
    assert not replace(limits, commands=0).runs_commands
    assert replace(limits, commands=None, output=None).runs_commands
