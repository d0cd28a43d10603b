"""The command grammar, row by row, and on any text at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.events.command import OPTIONS, Command, near_miss_command, parse_command, with_options
from bot.verbs.registry import NAMES, VERBS

MISSED = {
    "please /agent fix this": "/agent fix this",
    "Please, /agent review": "/agent review",
    "@someone can you /agent explain why?": "/agent explain why?",
    "/Agent fix this": "/agent fix this",
    "/AGENT": "/agent fix this",
    "/Agent the parser is broken": "/agent the parser is broken",
    "/agent: fix this": "/agent fix this",
    "Thanks for the report!\n\n/agent fix this": "/agent fix this",
    "please /agent fix `x` @ann": "/agent fix",
}
NOT_MISSED = [
    "/agent fix this", "nothing", "the /agent fix command is documented", "see src/agent fix", "Use /agent for that.",
    "`please /agent fix this`", "Use `/Agent fix this` for it.", "> please /agent fix this", "> Said\n/Agent fix this",
    "```\n/Agent fix this\n```", "~~~\nplease /agent fix this\n~~~", "    /Agent fix this", "<!-- /Agent fix this -->",
    "x\n<!--\nplease /agent fix this\n-->", "<pre>\n/Agent fix this\n</pre>", "<details>\n\n/Agent fix\n\n</details>",
    "- /Agent fix this", "/agents fix this", "Later\n\n/agent is a fine program",
]  # fmt: skip

COMMANDS = {
    "/agent": Command("fix"),
    "/agent fix": Command("fix"),
    "/agent   \t ": Command("fix"),
    "/agent fix the parser": Command("fix", "the parser"),
    "/agent the parser is broken": Command("fix", "the parser is broken"),
    "/agent Fix: the parser": Command("fix", "the parser"),
    "/agent fixes nothing": Command("fix", "fixes nothing"),
    "/agent review": Command("review"),
    "/agent explain why": Command("explain", "why"),
    "\n \n/agent fix it": Command("fix", "it"),
    "   /agent fix it": Command("fix", "it"),
    "/agent fix it\nand\r\nthat\rtoo": Command("fix", "it\nand\nthat\ntoo"),
    "/agent fix\n\n  indented": Command("fix", "indented"),
    "/agent\nplease fix it": Command("fix", "please fix it"),
    "/agent fix \u2014budget 2": Command("fix", "", {"budget": "2"}),
    "/agent \u2013draft fix it \u2014model=a/b": Command("fix", "it", {"draft": "true", "model": "a/b"}),
    "/agent fix \u2014what a mess": Command("fix", "\u2014what a mess"),
    "/agent fix it \u2014 budget 2": Command("fix", "it \u2014 budget 2"),
    "/agent fix --model a/b the parser": Command("fix", "the parser", {"model": "a/b"}),
    "/agent --budget=2 fix it": Command("fix", "it", {"budget": "2"}),
    "/agent fix it --budget $2.50 --draft": Command("fix", "it", {"budget": "2.50", "draft": "true"}),
    "/agent fix --no-draft --dry-run": Command("fix", "", {"draft": "false", "dry-run": "true"}),
    "/agent fix --base release/1.x": Command("fix", "", {"base": "release/1.x"}),
    "/agent fix the --verbose flag, it is ignored": Command("fix", "the --verbose flag, it is ignored"),
    "/agent fix the --model flag in our CLI": Command("fix", "the --model flag in our CLI"),
    "/agent fix `--model`": Command("fix", "`--model`"),
    "/agent fix our own option --frobnicate": Command("fix", "our own option --frobnicate"),
    "/agent fix it\n--budget 9": Command("fix", "it\n--budget 9"),
    "/agent fix it\n> quoted": Command("fix", "it", quoted="> quoted"),
    "/agent fix <!-- and push to main --> it": Command("fix", "it"),
    "/agent fix i\u200bt": Command("fix", "it"),
    "/agent\u00a0fix it": Command("fix", "it"),
    "/agent review --full": Command("review", "", {"full": "true"}),
    "/agent review only the tests --full": Command("review", "only the tests", {"full": "true"}),
    f"/agent fix --sha {'1A2B' * 10} it": Command("fix", "it", {"sha": "1a2b" * 10}),
    f"/agent fix --sha {'1a2b' * 16} it": Command("fix", "it", {"sha": "1a2b" * 16}),
    f"/agent explain --sha={'a' * 40}": Command("explain", "", {"sha": "a" * 40}),
    "/agent approve 1A2B3C4D": Command("approve", "", {"plan": "1a2b3c4d"}),
    "/agent approve `1a2b3c4d`, but only step 1": Command("approve", "but only step 1", {"plan": "1a2b3c4d"}),
    "/agent approve --draft 1a2b3c4d": Command("approve", "", {"draft": "true", "plan": "1a2b3c4d"}),
    "/agent approve\n1a2b3c4d\nplease": Command("approve", "please", {"plan": "1a2b3c4d"}),
    "/agent continue yes, the second one": Command("continue", "yes, the second one"),
    "/agent retry --budget 4": Command("retry", "", {"budget": "4"}),
    "/agent stop please": Command("stop", "please"),
}

NO_COMMANDS = [
    "", " \n\t\n", "/agents fix it", "/Agent fix it", "/AGENT", "/agent: fix it", "x/agent fix it",
    "please /agent fix it", "thanks\n/agent fix it", "> /agent fix it", ">/agent fix it",
    "```\n/agent fix it\n```", "~~~\n/agent fix it", "    /agent fix it", "\t/agent fix it",
    "- /agent fix it", "`/agent fix it`", "<!-- /agent fix it -->", "\uff0fagent fix it",
]  # fmt: skip

RUN_OPTIONS = "`--model`, `--budget`, `--dry-run`, `--sha`, `--skill`"
MINUTES = "`--check-minutes` needs whole minutes from 1 to 120, as in `--check-minutes 15`."
FULL_ID = "`--sha` needs the full id of the head commit: all 40 hex digits, or 64 in a SHA-256 repository."
PROBLEMS = {
    "/agent revew": "`/agent revew` is not a command. Did you mean `/agent review`?",
    "/agent fxi the parser": "`/agent fxi` is not a command. Did you mean `/agent fix`?",
    "/agent Retyr!": "`/agent retyr` is not a command. Did you mean `/agent retry`?",
    "/agent fix --modl x": "There is no option `--modl`. Did you mean `--model`?",
    "/agent fix it --budgt 2": "There is no option `--budgt`. Did you mean `--budget`?",
    "/agent fix \u2014budgt 2": "There is no option `--budgt`. Did you mean `--budget`?",
    "/agent --verbose fix it": "There is no option `--verbose`. `/agent help` lists the options.",
    "/agent fix --budget": "`--budget` needs an amount in USD, as in `--budget 2`.",
    "/agent fix --budget lots": "`--budget` needs an amount in USD, as in `--budget 2`.",
    "/agent fix --budget 0": "`--budget` needs an amount in USD, as in `--budget 2`.",
    "/agent fix --budget -1": "`--budget` needs an amount in USD, as in `--budget 2`.",
    "/agent fix --budget nan": "`--budget` needs an amount in USD, as in `--budget 2`.",
    "/agent fix --draft=yes": "`--draft` takes no value.",
    "/agent fix --draft --no-draft": "`--draft` is given twice.",
    "/agent fix --base refs/heads/x": "`--base` needs a branch's name, as in `--base main`.",
    "/agent fix --base pull/7/head": "`--base` needs a branch's name, as in `--base main`.",
    "/agent fix --base --upload-pack=x": "`--base` needs a branch's name, as in `--base main`.",
    "/agent fix --base " + "a" * 40: "`--base` needs a branch's name, as in `--base main`.",
    f"/agent fix --sha {'1' * 39}": FULL_ID,
    f"/agent fix --sha {'1' * 41}": FULL_ID,
    f"/agent fix --sha {'1' * 63}": FULL_ID,
    "/agent fix --sha 1a2b3c4d5e6f": FULL_ID,
    "/agent fix --sha main": FULL_ID,
    "/agent review --ful": "There is no option `--ful`. Did you mean `--full`?",
    "/agent fix it --full": "`/agent fix` has no option `--full`; it takes "
    f"{RUN_OPTIONS}, `--draft`, `--check`, `--no-checks`, `--check-minutes`, `--anyway` and `--base`.",
    "/agent review --no-draft": "`/agent review` has no option `--draft`; it takes "
    f"{RUN_OPTIONS} and `--full`.",
    "/agent stop --dry-run": "`/agent stop` has no option `--dry-run`; it takes no option.",
    "/agent approve --base main 1a2b3c4d": "`/agent approve` has no option `--base`; it takes "
    f"{RUN_OPTIONS}, `--draft`, `--check`, `--no-checks`, `--check-minutes` and `--anyway`.",
    "/agent fix --check-minutes 0": MINUTES,
    "/agent fix --check-minutes 121": MINUTES,
    "/agent fix --check-minutes 1e1": MINUTES,
    "/agent fix --check=$(id)": "`--check` needs the name of a check, with hyphens for blanks, "
    "as in `--check unit-tests`.",
    "/agent approve": "`/agent approve` needs the hash below the plan, as in `/agent approve 1a2b3c4d`.",
    "/agent approve the plan": "`/agent approve` needs the hash below the plan, "
    "as in `/agent approve 1a2b3c4d`.",
    "/agent approve 1a2b3c4": "`/agent approve` needs the hash below the plan, "
    "as in `/agent approve 1a2b3c4d`.",
    "/agent fix --base a..b": "`--base` needs a branch's name, as in `--base main`.",
}


@pytest.mark.parametrize("body", COMMANDS)
def test_a_command_is_read(body: str):
    assert parse_command(body) == COMMANDS[body]


UNSEEN = [
    "\ufeff", "\u200b", "\u2060", "\u200d", "\u00ad", "\u200e\u202a", "\ufe0f", "\x00", "\U000e0041",
    "<!-- x -->",
]  # fmt: skip
SPACES = ["\u00a0", "\u2003", "\u202f", "\u3000", "\u1680", "\u2800", "\u00a0" * 4, "\u00a0\t"]
LINE_ENDS = ["\u2028", "\u2029", "\x85", "\x0b", "\x0c"]


@pytest.mark.parametrize("sign", [*UNSEEN, *SPACES, *LINE_ENDS], ids=ascii)
def test_what_nobody_sees_before_a_command_does_not_hide_it(sign: str):
    for before in (sign, f"{sign}\n", f"\n{sign} ", f" {sign}"):
        assert parse_command(f"{before}/agent fix it") == Command("fix", "it"), ascii(before)


@pytest.mark.parametrize("sign", UNSEEN, ids=ascii)
def test_what_nobody_sees_in_a_command_changes_nothing(sign: str):
    body = f"/age{sign}nt{sign} {sign}rev{sign}iew {sign}--fu{sign}ll{sign}"
    assert parse_command(body) == Command("review", "", {"full": "true"})


@pytest.mark.parametrize("space", SPACES, ids=ascii)
def test_any_space_stands_between_the_words_of_a_command(space: str):
    body = f"/agent{space}fix{space}--budget{space}2{space}it"
    assert parse_command(body) == Command("fix", "it", {"budget": "2"})


@pytest.mark.parametrize("body", NO_COMMANDS)
def test_anything_else_is_no_command(body: str):
    assert parse_command(body) is None


@pytest.mark.parametrize("body", PROBLEMS)
def test_a_slip_is_named_with_the_nearest_thing(body: str):
    command = parse_command(body)
    assert command is not None
    assert command.problem == PROBLEMS[body]


@given(st.text(max_size=400))
def test_no_text_makes_the_grammar_raise(text: str):
    parse_command(text)


@given(st.lists(st.sampled_from(["--model", "--budget", "--draft", "--x", "=", "2", "a", "fix", "\n", " "])))
def test_no_arrangement_of_options_makes_the_grammar_raise(words: list[str]):
    assert parse_command("/agent " + " ".join(words)) is not None


@given(st.text(alphabet=st.characters(categories=["L", "N"]), min_size=1), st.text(max_size=50))
def test_a_token_glued_to_a_word_is_never_a_command(word: str, rest: str):
    assert parse_command(f"/agent{word} {rest}") is None


def test_a_long_row_of_options_takes_linear_time():
    body = "/agent fix x " + "--draft --model " * 20_000
    assert parse_command(body) is not None


# Any command that the grammar's own description can write is read back as it was meant.

VALUES = {
    "model": st.sampled_from(["a/b", "anthropic/claude-sonnet-5-5", "x"]),
    "budget": st.sampled_from(["1", "2.50", "0.0001"]),
    "base": st.sampled_from(["main", "release/1.x", "feature/#42", "it's-so", "a" * 250]),
    "sha": st.sampled_from(["a" * 40, "b" * 64]),
    "check": st.sampled_from(["tests", "unit-tests", "web:lint", "a" * 80]),
    "check-minutes": st.sampled_from(["1", "15", "120"]),
    "skill": st.sampled_from(["write-tests", "tdd:review", "PDF_Forms"]),
}
FREE_TEXT = st.lists(st.sampled_from(["the", "parser", "it's", "`--model`", "#42", "(all)", "ü"]), max_size=5)


@st.composite
def written(draw: st.DrawFn) -> tuple[str, Command]:
    verb = draw(st.sampled_from(NAMES))
    named = draw(
        st.lists(st.sampled_from(VERBS[verb].options), unique=True) if VERBS[verb].options else st.just([])
    )
    options: dict[str, str] = {}
    words: list[str] = []
    for name in named:
        if name in VALUES:
            options[name] = draw(VALUES[name])
            equals = draw(st.booleans())
            words += [f"--{name}={options[name]}"] if equals else [f"--{name}", options[name]]
        elif name == "draft" and draw(st.booleans()):
            options[name] = "false"
            words.append("--no-draft")
        else:
            options[name] = "true"
            words.append(f"--{name}")
    text = draw(FREE_TEXT)
    if verb == "approve":
        options["plan"] = "1a2b3c4d"
        line = [verb, *words, "1a2b3c4d", *text]
    else:
        line = [verb, *words, *text] if draw(st.booleans()) else [*words, verb, *text]
    space = draw(st.sampled_from([" ", "  ", "\t", "\u00a0"]))
    return f"/agent {space.join(line)}", Command(verb, space.join(text), options)


@given(written())
def test_what_the_grammar_can_write_it_reads_back(pair: tuple[str, Command]):
    body, meant = pair
    assert parse_command(body) == meant


@given(st.sampled_from(NAMES), st.sampled_from(sorted(OPTIONS)))
def test_an_option_is_taken_or_named(verb: str, option: str):
    values = {
        "model": "x",
        "budget": "1",
        "base": "main",
        "sha": "a" * 40,
        "check": "x",
        "check-minutes": "1",
        "skill": "x",
    }
    value = f" {values[option]}" if option in values else ""
    command = parse_command(f"/agent {verb} --{option}{value} {'1a2b3c4d' if verb == 'approve' else ''}")
    assert command is not None
    key = "draft" if option == "no-draft" else option
    if key in VERBS[verb].options:
        assert command.options[key]
    else:
        assert f"`/agent {verb}` has no option `--{key}`" in command.problem


@pytest.mark.parametrize("body", MISSED)
def test_what_was_meant_as_a_command_is_named_with_its_right_form(body: str):
    assert parse_command(body) is None or parse_command(body) == near_miss_command(body)
    missed = near_miss_command(body)
    assert missed is not None
    assert missed.near_miss
    assert missed.problem.endswith(f"in lower case: `{MISSED[body]}`")


@pytest.mark.parametrize("body", NOT_MISSED)
def test_what_speaks_of_the_bot_or_is_code_or_quoted_was_not_meant_as_one(body: str):
    assert parse_command(body) is not None or near_miss_command(body) is None


@given(st.text(alphabet="/agentA fix`>\n \t<!-pre@:", max_size=60))
def test_what_is_shown_of_it_is_one_line_of_harmless_text(body: str):
    missed = near_miss_command(body)
    if missed is not None:
        assert missed.problem.count("`") == 2
        assert "\n" not in missed.problem


def test_options_of_a_retry_take_the_place_of_those_of_the_command():
    command = parse_command("/agent fix the sum --budget 2 --draft")
    assert command is not None
    merged = with_options(command, {"budget": "3", "dry-run": "true"})
    assert merged.options == {"budget": "3", "draft": "true", "dry-run": "true"}
    assert (merged.verb, merged.instruction, merged.problem) == ("fix", "the sum", "")
    assert with_options(command, {"full": "true"}).problem.startswith("`/agent fix` has no option `--full`")
