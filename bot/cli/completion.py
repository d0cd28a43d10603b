"""Print a completion script for a shell. It holds all verbs and options, so completing starts no Python.

bash: save it as ~/.local/share/bash-completion/completions/slash-agent

fish: save it as ~/.config/fish/completions/slash-agent.fish

zsh:  put `source <(slash-agent completion zsh)` into ~/.zshrc"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from bot.cli.main import VERBS, verb_parser
from bot.contracts.errors import ExitCode

EXAMPLE = "slash-agent completion bash"

_BASH = """_slash_agent() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
  local verb="${{COMP_WORDS[1]}}" action="${{COMP_WORDS[2]}}"
  [ "$COMP_CWORD" -gt 1 ] || verb=""
  [ "$COMP_CWORD" -gt 2 ] || action=""
  case "$verb $action $before" in
{values}
    *) case "$verb $action" in
{actions}
      *) case "$verb" in
{verbs}
      esac ;;
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _slash_agent slash-agent
"""
_ZSH = "autoload -U +X compinit bashcompinit && compinit && bashcompinit\n"


@dataclass(frozen=True, slots=True)
class Words:
    """Return the completions after a verb, or a verb and its action: `words` with their help, and option values."""

    words: Mapping[str, str]
    values: Mapping[str, tuple[str, ...]]
    actions: Mapping[str, Words] = field(default_factory=dict)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def run(arguments: argparse.Namespace) -> ExitCode:
    verbs = {verb: words_of(verb_parser(verb)[1]) for verb in VERBS}
    if arguments.shell == "fish":
        print("\n".join(_fish(verbs)))
    else:
        print((_ZSH if arguments.shell == "zsh" else "") + _bash(verbs), end="")
    return ExitCode.DONE


def words_of(parser: argparse.ArgumentParser) -> Words:
    words: dict[str, str] = {}
    values, actions = {}, {}
    for action in parser._actions:  # argparse has no public way to ask
        if isinstance(action, argparse._SubParsersAction):
            actions = {name: words_of(below) for name, below in action.choices.items()}
            words |= {one.dest: one.help or "" for one in action._choices_actions}
        elif action.option_strings:
            words[action.option_strings[-1]] = action.help or ""
            if action.choices:
                values[action.option_strings[-1]] = tuple(map(str, action.choices))
        elif action.choices:
            words |= dict.fromkeys(map(str, action.choices), "")
    return Words(words, values, actions)


def _bash(verbs: Mapping[str, Words]) -> str:
    def case(pattern: str, words: object) -> str:
        return f'    {pattern}) words="{" ".join(map(str, words))}" ;;'  # type: ignore[call-overload]

    values, actions = [], []
    for verb, has in verbs.items():
        values += [case(f'"{verb} "*" {option}"', choices) for option, choices in has.values.items()]
        for name, below in has.actions.items():
            values += [case(f'"{verb} {name} {option}"', choices) for option, choices in below.values.items()]
            actions.append(case(f'"{verb} {name}"', below.words))
    return _BASH.format(
        values="\n".join(values),
        actions="\n".join(actions),
        verbs="\n".join([case('""', verbs), *(case(verb, has.words) for verb, has in verbs.items())]),
    )


def _fish(verbs: Mapping[str, Words]) -> Iterator[str]:
    start = "complete -c slash-agent"
    for verb, help in VERBS.items():
        yield f"{start} -f -n __fish_use_subcommand -a {verb} -d {_quoted(help)}"
    for verb, has in verbs.items():
        seen = f"__fish_seen_subcommand_from {verb}"
        yield from (f"{start} -n {_quoted(seen)} {line}" for line in _fish_words(has))
        for name, below in has.actions.items():
            both = f"{seen}; and __fish_seen_subcommand_from {name}"
            yield from (f"{start} -n {_quoted(both)} {line}" for line in _fish_words(below))


def _fish_words(has: Words) -> Iterator[str]:
    for word, help in has.words.items():
        if word.startswith("--"):
            values = f" -xa {_quoted(' '.join(has.values[word]))}" if word in has.values else ""
            yield f"-l {word[2:]} -d {_quoted(help)}{values}"
        else:
            yield f"-f -a {word} -d {_quoted(help)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
