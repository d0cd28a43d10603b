"""The command grammar: parse the command in a comment's source, and check it against what GitHub shows of the comment.

A command is the token `/agent`, case-sensitive, at the start of the first line that is not blank, with at
most three spaces before it: so never inside a quote, a code block, or running text. What follows it:

1. Options (`--model x`, `--model=x`, `--draft`) stand before or after the verb, or at the very end of the
   first line. Between other words, or in backticks, `--something` is part of the instruction. A dash in place of
   the two hyphens, as some keyboards make it, is taken as them where an option is named.
2. The first word that is no option is the verb when it is one of the verbs, in any case, with or without
   punctuation after it. A word one slip away from a verb (`revew`) is a mistake and the nearest verb is
   named. Anything else begins the instruction of a `fix`.
3. The rest of the line and all further lines, without what they quote, are the instruction. None at all means the
   thread it stands in. That of `approve` begins with the hash of the plan.
"""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from bot.contracts.nearest import meant, nearest
from bot.contracts.request import CHECK, CHECK_MINUTES, NO_CHECKS, SKILL
from bot.events.quoted_replies import split_quotation
from bot.events.sanitize import clean
from bot.verbs.record import ANYWAY, Earlier
from bot.verbs.registry import DEFAULT, NAMES, VERBS, needs

_POINTING = frozenset({"", "this", "it", "this one"})
AT_A_THREAD = _POINTING | {"this issue", "this bug", "this pull request", "this pr"}
AT_LINES = AT_A_THREAD | {"this line", "these lines", "this code", "here"}
"""Instructions that only point at where they stand."""


class Option(NamedTuple):
    """What an option needs, for messages, and the form of its value; both empty for an option without a value."""

    needs: str = ""
    form: str = ""


# Names that git's check-ref-format refuses, and names that git would not read as a branch: another ref (`refs/`,
# `pull/`: a fork's head) or an object id.
_NOT_A_BRANCH = (
    r".*(?:[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|\.lock(?:/|$)|/\.)|\.|[-/]|@$|refs/|pull/|HEAD$|.*[./]$"
    r"|[0-9a-fA-F]{40}(?:[0-9a-fA-F]{24})?$"
)
OPTIONS: Mapping[str, Option] = {
    "model": Option(
        "a model's name, as in `--model anthropic/claude-sonnet-5-5`", r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}"
    ),
    "budget": Option("an amount in USD, as in `--budget 2`", r"\$?(?=.*[1-9])[0-9]{1,6}(?:\.[0-9]{1,4})?"),
    "base": Option("a branch's name, as in `--base main`", rf"(?s)(?!{_NOT_A_BRANCH}).{{1,250}}"),
    "draft": Option(),
    "no-draft": Option(),
    "dry-run": Option(),
    "full": Option(),
    ANYWAY: Option(),
    CHECK: Option(
        "the name of a check, with hyphens for blanks, as in `--check unit-tests`",
        r"[\w.:/@+-][\w .:/@+-]{0,79}",
    ),
    NO_CHECKS: Option(),
    SKILL: Option("the name of a skill, as in `--skill write-tests`", r"[\w-][\w:-]{0,139}"),
    CHECK_MINUTES: Option(
        "whole minutes from 1 to 120, as in `--check-minutes 15`", r"0*(?:[1-9][0-9]?|1[01][0-9]|120)"
    ),
    "sha": Option(
        "the full id of the head commit: all 40 hex digits, or 64 in a SHA-256 repository",
        r"[0-9a-fA-F]{40}(?:[0-9a-fA-F]{24})?",
    ),
}

PLAN_HASH = "plan"
"""Key in a command's options for the hash of the approved plan, which is not written as an option."""

_ADDRESS = "/agent"
_CODE_INDENT = re.compile(r" {4}| {0,3}\t")
_BLANK_BRAILLE = "\u2800"  # looks like a space and is none to `str.strip`
_WORD = re.compile(r"\S+")
_OPTION = re.compile(r"--([A-Za-z][A-Za-z-]*)(?:=(.*))?", re.DOTALL)
# Some keyboards replace two hyphens by an en or em dash.
_DASH = re.compile(r"[\u2013\u2014](?=[A-Za-z])")
_HASH = re.compile(r"`?([0-9a-fA-F]{8,64})`?[.,:;]?")
# Up to four polite words or mentions, then the token in any case.
_MISSED = re.compile(
    r"^ {0,3}((?:(?:@[\w-]+|please|pls|plz|hey|hi|hello|okay|ok|so|now|and|then|can|could|would|you|kindly|thanks)"
    r"[,:!]? +){0,4})(/agent)(?=[\s:,!]|$)[:,!]?[ \t]*(.*)",
    re.IGNORECASE | re.MULTILINE,
)
_PLAIN = re.compile(r"[A-Za-z0-9 ,.'?!-]{1,60}")
_WORDS = re.compile(r"[^\W_]+")
# Code, quotations and elements that fold or frame other text.
_NO_PROSE = re.compile(
    r"^ {0,3}(```|~~~).*?(?:^ {0,3}\1|\Z)|^(?: {4}|\t)[^\n]*|^[ \t]*>[^\n]*(?:\n[^\n]*\S[^\n]*)*"
    r"|<(pre|code|blockquote|details|kbd|samp)\b.*?(?:</\2\s*>|\Z)",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)


class Command(NamedTuple):
    """A command as written. `instruction` is empty for "this issue", and has hidden text taken out; `quoted` is what
    its author quoted below it, which is data.

    `options` holds values as text (`draft`, `dry-run` and `full` are "true" or "false"), and under `plan` the hash
    that `approve` names. `problem` is one sentence for its author if it cannot be carried out as written; verb
    and options mean nothing then. `near_miss` says that it is no command, and only looks as if one was meant.
    """

    verb: str
    instruction: str = ""
    options: Mapping[str, str] = MappingProxyType({})
    problem: str = ""
    near_miss: bool = False
    quoted: str = ""


class _ProblemError(Exception):
    """One sentence for the author of the command."""


def parse_command(body: str) -> Command | None:
    """Return the command in a comment's source or visible text, or `None`. Never raises."""
    rest = _after_token(body)
    if rest is None:
        return None
    line, _, further = rest.partition("\n")
    spans = [match.span() for match in _WORD.finditer(line)]
    words = [_with_hyphens(line[start:end]) for start, end in spans]
    options: dict[str, str] = {}
    try:
        position = _read_leading(words, 0, options)
        named = _read_verb(words[position]) if position < len(words) else None
        if named is not None:
            position = _read_leading(words, position + 1, options)
        end = _trailing_start(words, position)
        _read_leading(words, end, options)
        text, verb = line[spans[position][0] : spans[end - 1][1]] if position < end else "", named or DEFAULT
        _check_options(verb, options)
        instruction, quoted = split_quotation(f"{text}\n{further}")
        if needs(verb, Earlier.PLAN):
            first = next(iter(instruction.split(None, 1)), "")
            if (match := _HASH.fullmatch(first)) is None:
                example = f"`{_ADDRESS} {VERBS[verb].example}`"
                raise _ProblemError(f"`{_ADDRESS} {verb}` needs the hash below the plan, as in {example}.")
            options[PLAN_HASH], instruction = match[1].lower(), instruction.removeprefix(first).strip()
    except _ProblemError as problem:
        return Command(DEFAULT, problem=str(problem))
    return Command(verb, instruction, options, quoted=quoted)


def with_options(command: Command, options: Mapping[str, str]) -> Command:
    """Return `command` with these options in place of its own of the same name, or its problem with them."""
    try:
        _check_options(command.verb, options)
    except _ProblemError as problem:
        return Command(DEFAULT, problem=str(problem))
    return command._replace(options={**command.options, **options})


def shown_command(command: Command, source: str, shown: str) -> Command | None:
    """Return `command`, which was parsed from `source`, with the instruction and the quotation that GitHub shows, or
    `None` if what it shows is another command or none. An instruction with the same words stays as it was written."""
    written = parse_command(source)
    # A line below a command may have made it a heading.
    visible = parse_command(shown.lstrip("#"))
    if written is None or visible is None or visible.problem:
        return None
    if (visible.verb, visible.options) != (written.verb, written.options):
        return None
    same = _WORDS.findall(visible.instruction) == _WORDS.findall(written.instruction)
    return command._replace(
        instruction=command.instruction if same else visible.instruction, quoted=visible.quoted
    )


def near_miss_command(body: str) -> Command | None:
    """Return the command that was apparently meant, as in `please /agent fix this` or `/Agent fix`; else `None`.
    Ignores code, quotations, HTML and comments."""
    for lead, token, rest in _MISSED.findall(_NO_PROSE.sub("", clean(body).text)):
        verb = rest.split(None, 1)[0].rstrip(".,:;!?").lower() if rest else ""
        # Without a verb only the token in another case counts.
        if verb in VERBS or (not lead and token != _ADDRESS):
            intended = rest if _PLAIN.fullmatch(rest) else verb if verb in VERBS else "fix this"
            problem = (
                "This was not read as a command. A command is the first thing in a comment, in lower case: "
                f"`{_ADDRESS} {intended.strip()}`"
            )
            return Command(DEFAULT, problem=problem, near_miss=True)
    return None


def mentions_agent(body: str) -> bool:
    """Whether `body` contains the token anywhere, for the reason in the log."""
    return re.search(rf"(?<!\S){_ADDRESS}(?!\S)", body) is not None


def _after_token(body: str) -> str | None:
    """Return the visible text after the token, with line ends as `\\n`; `None` if `body` is no command."""
    lines = clean("\n".join(body.splitlines())).text.split("\n")
    for number, line in enumerate(lines):
        if words := line.replace(_BLANK_BRAILLE, " ").strip():
            rest = words.removeprefix(_ADDRESS)
            if rest == words or _CODE_INDENT.match(line) or (rest and not rest[0].isspace()):
                return None
            return "\n".join([rest, *lines[number + 1 :]])
    return None


def _with_hyphens(word: str) -> str:
    """Return `word` with two hyphens in place of a dash, if that makes it an option."""
    if not _DASH.match(word):
        return word
    written = _DASH.sub("--", word, count=1)
    match = _OPTION.fullmatch(written)
    return written if match and meant(match.group(1), OPTIONS) else word


def _read_verb(word: str) -> str | None:
    """Return the verb `word`, or `None` for a word of an instruction."""
    plain = word.rstrip(".,:;!?").lower()
    if plain in VERBS:
        return plain
    if intended := meant(plain, NAMES):
        raise _ProblemError(
            f"`{_ADDRESS} {_quotable(plain)}` is not a command. Did you mean `{_ADDRESS} {intended}`?"
        )
    return None


def _check_options(verb: str, options: Mapping[str, str]) -> None:
    allowed = VERBS[verb].options
    if wrong := next((name for name in options if name not in allowed), ""):
        *names, last = [f"`--{name}`" for name in allowed] or ["no option"]
        takes = f"{', '.join(names)} and {last}" if names else last
        raise _ProblemError(f"`{_ADDRESS} {verb}` has no option `--{wrong}`; it takes {takes}.")


def _read_leading(words: Sequence[str], position: int, options: dict[str, str]) -> int:
    """Read options from `position` on into `options`; return the position of the first other word."""
    while position < len(words) and (match := _OPTION.fullmatch(words[position])):
        name, value = match[1], match[2]
        position += 1
        if name not in OPTIONS:
            intended = nearest(name, OPTIONS)
            then = f"Did you mean `--{intended}`?" if intended else "`/agent help` lists the options."
            raise _ProblemError(f"There is no option `--{_quotable(name)}`. {then}")
        needs, form = OPTIONS[name]
        if form and value is None and position < len(words):
            value = words[position]
            position += 1
        if not form and value is not None:
            raise _ProblemError(f"`--{name}` takes no value.")
        if form and not re.fullmatch(form, value or ""):
            raise _ProblemError(f"`--{name}` needs {needs}.")
        key, text = ("draft", "false") if name == "no-draft" else (name, value or "true")
        if key in options:
            raise _ProblemError(f"`--{key}` is given twice.")
        options[key] = text.removeprefix("$") if name == "budget" else text.lower() if name == "sha" else text
    return position


def _trailing_start(words: Sequence[str], lowest: int) -> int:
    """Return where the options at the end of the line begin; the number of words if there are none."""
    start = len(words)
    while start > lowest:
        if _is_option(words[start - 1], takes_next=False):
            start -= 1
        elif start - 1 > lowest and _is_option(words[start - 2], takes_next=True):
            start -= 2
        else:
            break
    return start


def _is_option(word: str, *, takes_next: bool) -> bool:
    """Whether a word at the line's end is one of our options, or a near misspelling."""
    if not (match := _OPTION.fullmatch(word)):
        return False
    name = match[1] if match[1] in OPTIONS else meant(match[1], OPTIONS)
    return bool(name) and (bool(OPTIONS[name].form) and match[2] is None) == takes_next


def _quotable(word: str) -> str:
    """Return a word of the author, safe inside backticks."""
    return word.replace("`", "'")[:40]
