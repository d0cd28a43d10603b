"""Rules on paths: those that no commit may contain or that are withheld; links that leave the tree; names that collide.

Pure. Names are folded before they are compared, since a file system that ignores case, trailing dots or invisible
characters would fold them later, in somebody's checkout. Links are resolved in the data of the tree and never followed
on disk.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache

from bot.contracts.name_patterns import is_one_of
from bot.policy.protected_files import ANYWHERE, ROOT_ONLY, ProtectedFiles, services_of

_LONGEST_PATH = 4096
_LONGEST_NAME = 255

# Invisible. HFS+ drops some of these when it compares names, other programs drop others.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
# Bidirectional controls and line separators: they make one path look like another in a review.
_DECEPTIVE = re.compile("[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_DOT_GIT = re.compile(r"(?:\.git|git~[0-9]+)")

# Other prose in a dot folder is for agents, too, but for these.
_PROSE = ".md"
_READ_BY_PEOPLE = frozenset(
    {".changeset", ".changes", ".changelog", ".chloggen", ".docs", ".storybook", ".vitepress"}
)
# The short names NTFS gives to long ones (`VSCODE~1` may be `.vscode`); people do not use such names.
_SHORT_NAMES = re.compile(r"[^.~]{1,6}~[0-9]{1,6}(?:\.[^.]{1,3})?")


def refusal(path: str) -> str | None:
    """Return why no commit may contain `path`, or `None`. The reason follows "the path X"."""
    if len(path) > _LONGEST_PATH:
        return f"is longer than {_LONGEST_PATH} characters"
    if any(part in ("", ".", "..") for part in path.split("/")):
        return "does not stay in the tree"
    try:
        path.encode()
    except UnicodeEncodeError:
        return "is not valid UTF-8"
    if any(unicodedata.category(char) == "Cc" for char in path):
        return "holds a control character"
    if _DECEPTIVE.search(path):
        return "holds a character that hides what it is"
    if "\\" in path:
        return "holds a backslash, which separates folders on Windows"
    for part in path.split("/"):
        if len(part.encode()) > _LONGEST_NAME:
            return f"has a part longer than {_LONGEST_NAME} bytes"
        if is_git_folder(part):
            return "is or looks like git's own folder"
    return None


def is_git_folder(name: str) -> bool:
    """Whether some file system would treat the name as `.git`."""
    return _DOT_GIT.fullmatch(folded(name)) is not None


def withholding(path: str, skills: Iterable[str] = ()) -> str | None:
    """Return why a change to `path` is withheld from the published patch, or `None`.

    `skills` are the folders with a SKILL.md: every file of a skill may contain instructions for agents.
    """
    folder, parts = folded(path), [folded(part) for part in path.split("/")]
    if parts[0] in ROOT_ONLY:
        return f"protected path: {path.split('/', 1)[0]}"
    for part, original in zip(parts, path.split("/"), strict=True):
        if is_one_of(ANYWHERE, part) or _SHORT_NAMES.fullmatch(part):
            return f"protected path: {original}"
    hidden = {part for part in parts[:-1] if part.startswith(".")}.difference(_READ_BY_PEOPLE, ROOT_ONLY)
    if folder.endswith(_PROSE) and hidden and not any(services_of(folder)):
        return "protected path: text in a hidden folder, which agents may obey"
    for skill in skills:
        if folder.startswith(f"{folded(skill)}/"):
            return f"protected path: the skill {skill}"
    return None


def protection(path: str, files: ProtectedFiles) -> str | None:
    """Return why `path` is protected, by default or by the policy's list, or `None`."""
    return withholding(path) or files(path) or files(folded(path))


@lru_cache(maxsize=4096)
def folded(path: str) -> str:
    """Return a path, or a name in one, as the most lenient file system compares it."""
    visible = _INVISIBLE.sub("", unicodedata.normalize("NFKC", _INVISIBLE.sub("", path))).casefold()
    # NTFS: a colon begins the name of a stream, and trailing dots and spaces are dropped.
    return "/".join(name.split(":", 1)[0].rstrip(" .") for name in visible.split("/"))


_PLAIN = re.compile(r"(?:[\w./~+@-]*[\w~+@-])", re.ASCII)


def collisions(result: Iterable[str], added: Iterable[str]) -> Mapping[str, str]:
    """Return the paths of `added` that are equal to another path of `result` on some file system, each with that other
    path.

    `result` are all paths of the changed tree, `added` those of them that are not in the base. Folders count too:
    `Src/a` and `src/b` are in one folder on some file systems, and in two for git.
    """
    names: dict[str, set[str]] = {}
    news = sorted(added)
    wanted = {_key(name) for path in news for name in _prefixes(path)}
    for path in result:
        for name in _prefixes(path):
            key = _key(name)
            if key in wanted:
                names.setdefault(key, set()).add(name)
    colliding: dict[str, str] = {}
    for path in news:
        for name in _prefixes(path):
            others = names.get(_key(name), set()) - {name}
            if others:
                colliding[path] = min(others)
                break
    return colliding


def _prefixes(path: str) -> Iterable[str]:
    """Yield `a`, `a/b`, `a/b/c`."""
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)
    yield path


def _key(name: str) -> str:
    # Most names are ASCII without dots or spaces at their end, and there may be a million of them.
    if "./" not in name and _PLAIN.fullmatch(name):
        return name.lower()
    return unicodedata.normalize("NFC", folded(name))
