r"""Read a shell command: prove it simple by a positive grammar, and find the commands in sight of any other.

Proven simple is a list or pipeline (`&&`, `||`, `;`, `|`, newline) of commands that consist of plain words
and quoted strings, nothing expanded, nothing redirected. Everything else is opaque: it runs in the sandbox
like any command, but no `allow` rule matches it. Names that run another command (interpreters, wrappers,
builtins that evaluate their arguments) are opaque too, since what they run is not in sight. Held against
real bash in `tests/policy/test_shell_truth.py`: simple is never wrong.
"""

import posixpath
import re
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from bot.policy.wrappers import Words, carries_commands, runs_another

# In bytes of UTF-8. Longer commands are opaque, and none is in sight.
MAX_COMMAND = 8 * 1024
_MOST_SEEN = 1_000

_NAME = r"""(?:[\w./+-]|'[\w./+-]*'|"[\w./+-]*")++"""
_ARGUMENT = r"""(?:[\w@%+=:,./-]|'[^']*'|"[^"$`\\!]*")++"""
_COMMAND = rf"{_NAME}(?:[ \t]++{_ARGUMENT})*+[ \t]*+"
_SIMPLE = re.compile(rf"[ \t\n]*+{_COMMAND}(?:(?:&&|\|\||[|;\n])[ \t\n]*+{_COMMAND})*+;?[ \t\n]*+")
_NOT_TEXT = re.compile(
    "\\\\\n|[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ud800-\udfff]"
)

_QUOTED = r"""\\(.)|\$?'([^']*)'|\$?"((?:[^"\\]|\\.)*)\""""
_TOKEN = re.compile(
    r"(?<![^\s;&|()])\#[^\n]*+"
    r"|(?P<redirection>\d*(?:<<-?[ \t]*['\"\\]?(?P<end>\w+)['\"]?|[<>]++[&|]?))"
    r"|(?P<joint>[;&|()`\n])"
    rf"|(?P<word>(?:[^\s;&|()`<>'\"\\]|{_QUOTED})++)",
    re.DOTALL,
)
_UNQUOTED = re.compile(_QUOTED, re.DOTALL)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SUBSTITUTION = re.compile(r"\$\(|`")
_SHELL_TEXT = re.compile(r"[\s;&|<>()$`{}]")
# What stands before the text in `--split-string=curl x`, `alias p=curl x` and `-c alias.x=!curl x`.
_SETTING = re.compile(r"[\w.-]*=!?")


class ShellCommand(NamedTuple):
    """`simple` holds the words of each command, `None` when the whole is opaque.

    `seen` holds the words of every command that is in sight, whatever stands around it, its name without a folder:
    enough for a rule that denies, never for one that allows. In doubt, words are a command.
    """

    simple: tuple[Words, ...] | None
    seen: tuple[Words, ...]


def parse_shell(command: str) -> ShellCommand:
    """Parse `command` by the grammar above. Never raises."""
    if len(command.encode("utf-8", "surrogatepass")) > MAX_COMMAND:
        return ShellCommand(None, ())
    simple = None
    if _SIMPLE.fullmatch(command) and not _NOT_TEXT.search(command):
        commands = tuple(split_commands(command))
        simple = None if any(map(runs_another, commands)) else commands
    return ShellCommand(simple, tuple(islice(_seen(command), _MOST_SEEN)))


def split_commands(text: str) -> Iterator[Words]:
    """Yield the words of each command of a shell's text, without assignments before it, redirections, comments and
    here-documents. Nothing is expanded."""
    words: list[str] = []
    is_target, end, at, text = False, "", 0, f"{text}\n"
    while match := _TOKEN.search(text, at):
        at = match.end()
        if match["joint"] and words:
            yield tuple(words)
            words = []
        elif match["word"] and not is_target and (words or not _ASSIGNMENT.match(match[0])):
            words.append(_UNQUOTED.sub(_inside, match[0]))
        if end and match["joint"] == "\n":
            # One without an end may be none, as in `$((1<<x))`: then the lines after it are commands.
            body = re.compile(rf"^\t*{end}$", re.MULTILINE).search(text, at)
            at, end = body.end() if body else at, ""
        end = match["end"] or end
        is_target = match["redirection"] is not None and not match["end"]


def _inside(quoted: re.Match[str]) -> str:
    return quoted[1] or quoted[2] or re.sub(r"\\(.)", r"\1", quoted[3] or "", flags=re.DOTALL)


def _seen(command: str) -> Iterator[Words]:
    """Yield the visible commands: those of the line, then those in the texts among their words."""
    texts = deque([command])
    while texts:
        for words in split_commands(texts.popleft().replace("\\\n", "")):
            carries = carries_commands(words)
            for start in range(len(words) if carries else 1):
                yield (posixpath.basename(words[start]), *words[start + 1 :])
            has_text = _SHELL_TEXT if carries else _SUBSTITUTION
            texts += (_SETTING.sub("", word, count=1) for word in words if has_text.search(word))
