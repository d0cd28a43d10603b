"""What `allowed-tools` pre-approves: whole calls, named commands, reading; nothing that is wider."""

from __future__ import annotations

import pytest

from bot.skills.grants import ActiveGrants, covering_pieces, read_grants


def covered(allowed: str, tool: str, **arguments: str) -> str:
    return covering_pieces(read_grants([allowed]).grants, tool, arguments, "/srv")


@pytest.mark.parametrize(
    ("allowed", "command"),
    [
        ("Bash(git:*)", "git push origin main"),
        ("Bash(git:*)", "git status && git log"),
        ("Bash(git *)", "git status"),
        ("bash(npm test)", "npm test"),
        ("Bash(cargo build:*)", "cargo build --release | cargo build"),
    ],
)
def test_commands_that_are_named_are_covered(allowed: str, command: str) -> None:
    assert covered(allowed, "bash", command=command) == allowed


@pytest.mark.parametrize(
    ("allowed", "command"),
    [
        ("Bash(git:*)", "rm -rf ."),
        ("Bash(git:*)", "git status; rm -rf ."),
        ("Bash(git:*)", "git status | sh"),
        ("Bash(git:*)", "git $(rm x)"),
        ("Bash(git:*)", "git status > /dev/null"),
        ("Bash(git:*)", "git -c alias.x=!rm x"),
        ("Bash(git:*)", "./git status"),
        ("Bash(git:*)", "gitx"),
        ("Bash(git:*)", ""),
        ("Bash(npm test)", "npm test --evil"),
        ("Bash(cargo build:*)", "cargo publish"),
        ("Read", "cat x"),
    ],
)
def test_what_else_a_line_does_is_not_covered(allowed: str, command: str) -> None:
    assert covered(allowed, "bash", command=command) == ""


@pytest.mark.parametrize(
    "piece",
    [
        "*", "Bash", "Bash(*)", "Bash(:*)", "Bash( * )", "Bash()", "Bash(*:*)", "Bash(git*)", "Bash(* push)",
        "Bash(git * push)", "Bash(python3:*)", "Bash(sh -c:*)", "Bash(env:*)", "Bash(npm run:*)", "Bash(./x:*)",
        "Bash(git", "Edit", "Write(docs/**)", "Patch", "WebFetch", "mcp__github__merge", "Read(/etc/**)", "(git)", "",
    ],
)  # fmt: skip
def test_what_is_too_wide_or_unknown_grants_nothing_and_says_why(piece: str) -> None:
    read = read_grants([piece])
    assert read.grants == ()
    assert "grants nothing" in read.rejected[0]


@pytest.mark.parametrize(
    ("piece", "reason"),
    [
        ("Bash(node .claude/skills/x/scripts/*)", "what `node` runs is not in sight"),
        ("Bash(node ${CLAUDE_SKILL_DIR}/scripts/*)", "what `node` runs is not in sight"),
        ("Bash(./scripts/*)", "what stands at a path may have been changed"),
        ("Bash(cat docs/*)", "a * stands for whole words, after a blank or a colon"),
        ("Bash(git * log)", "a * stands for whole words, after a blank or a colon"),
    ],
)
def test_the_reason_is_the_one_that_matters(piece: str, reason: str) -> None:
    assert reason in read_grants([piece]).rejected[0]


def test_reading_is_covered_by_path() -> None:
    assert covered("Read", "view", path="secret/x") == "Read"
    assert covered("Read(docs/**)", "view", path="/srv/docs/a.md") == "Read(docs/**)"
    assert covered("Read(docs/**)", "view", path="docs/../secret/x") == ""
    assert covered("Read", "view", path="/elsewhere/x") == ""
    assert covered("Read", "edit", path="docs/a.md") == ""
    assert covered("Grep", "grep", pattern="x") == "Grep"


def test_two_grants_together_may_cover_one_line() -> None:
    grants = read_grants(["Bash(git:*)", "Bash(jq:*)"]).grants
    assert covering_pieces(grants, "bash", {"command": "git show | jq ."}, "") == "Bash(git:*) Bash(jq:*)"


def test_only_the_last_skill_has_its_grants_and_only_until_the_turn_ends() -> None:
    active = ActiveGrants("/srv")
    active.begin("one", read_grants(["Bash(git:*)"]).grants)
    assert active.why("bash", {"command": "git push"}) == "the skill one (allowed-tools: Bash(git:*))"
    active.begin("two", read_grants(["Bash(jq:*)"]).grants)
    assert active.why("bash", {"command": "git push"}) == ""
    assert active.why("bash", {"command": "jq ."}) != ""
    active.end()
    assert active.why("bash", {"command": "jq ."}) == ""
