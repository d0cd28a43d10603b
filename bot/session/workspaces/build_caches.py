"""The caches that the workspaces of one run share, cargo's `target` among them; and the HOME of setup.

No workspace writes where another one reads: each gets a copy. Copies are made of the checkout, of `setup:` or of the
first round on the base, never of a changed tree or the model's files.
"""

import os
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from posixpath import basename
from typing import NamedTuple

from bot.ecosystems.registry import ecosystems
from bot.workspace.sandbox.confinement import EnvironmentFolder
from bot.workspace.sandbox.hidden_paths import credentials_in
from bot.workspace.sandbox.toolchains import SYSTEM_PATH
from bot.workspace.start import BROUGHT

_HOME = "~"
_IN_HOME = tuple(folder for one in ecosystems() for folder in one.build_caches)
_LARGEST = 4096
"""MiB of one cache: to copy this takes about ten seconds."""

_LARGEST_COPY = 500
"""MiB of the user's own downloads."""


# A cache that cannot be copied is done without. Hard links would not do: a command could write in both names.
_COPY = """\
s={source}; t={target}
[ ! -d {brought}"$s" ] || s={brought}"$s"
if [ -d "$s" ] && [ "$(du -sm -- "$s" | cut -f1)" -le {largest} ]; then
  {clear}mkdir -p -- "$t" && cp -a --reflink=auto -- "$s"/. "$t"/ || {{ {clear}true; }}
{otherwise}fi
"""
# What commands left in HOME and in an environment changes none of the programs below.
_OWN_PROGRAMS = f"export PATH={SYSTEM_PATH}:$PATH GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null\n"
_COPY_ALL = """\
s={source}
[ ! -d {brought}"$s" ] || s={brought}"$s"
cp -a --remove-destination -- "$s"/. .
"""
# Cargo goes by time: the files of this tree are newer than whatever was built from others.
_TOUCH = "git -c core.fsmonitor= -c core.hooksPath=/dev/null ls-files -z | xargs -0r touch -ch --\n"
# No test result of another round counts as one of this round.
_FORGET = "".join(f"{one.forget}\n" for one in ecosystems() if one.forget) + "true\n"
FORGET_DOWNLOADS = f"rm -rf {' '.join(folder for one in ecosystems() for folder in one.downloads)}; true"
"""For the HOME that `setup:` leaves: what its package managers downloaded is installed."""


class BuildCache(NamedTuple):
    """The folder `source` of this machine, and where each workspace gets a copy: in HOME, or relative to the tree."""

    source: Path
    target_path: str
    linked: bool = False
    """Whether a larger one is linked, read-only; any other is done without."""

    @property
    def in_home(self) -> bool:
        return self.target_path.startswith(_HOME)


def setup_caches(folders: Sequence[EnvironmentFolder], home: Path | None = None) -> Iterator[BuildCache]:
    """All of the `home` that `setup:` left, and the `target` folders among `folders`: whole ones if setup created them;
    of the checkout's own, which can be large, only test builds."""
    yield from _if_plain([BuildCache(home, _HOME)] if home else [])
    for one in folders:
        if one.is_build_output:
            name = "" if one.created else "/debug"
            built = Path(f"{one.source}{name}")
            if one.created or not any(credentials_in(built, versions=False)):
                yield from _if_plain([BuildCache(built, one.path + name)])


def downloads(tracked: Collection[str], source: Mapping[str, str]) -> Iterator[BuildCache]:
    """The folders of the user's home that the tools of this checkout write in while they read them."""
    names = {basename(path) for path in tracked} if "HOME" in source else set()
    folders = [folder for one in ecosystems() for manifest, folder in one.copied.items() if manifest in names]
    home = Path(os.path.expanduser("~"))
    yield from _if_plain([BuildCache(home / one, f"~/{one}", linked=True) for one in folders])


def round_caches(home: Path, tree: Path, targets: Sequence[str]) -> Iterator[BuildCache]:
    """The caches of a round, by its HOME and its tree. None of its processes may be alive."""
    caches = [BuildCache(home / target_path.removeprefix("~/"), target_path) for target_path in _IN_HOME]
    return _if_plain([*caches, *(BuildCache(tree / one, one) for one in targets)])


def _if_plain(caches: Sequence[BuildCache]) -> Iterator[BuildCache]:
    """The caches that are folders without a link on the way: the sandbox would refuse one that a command put there."""
    for one in caches:
        if os.path.isdir(one.source) and os.path.realpath(one.source) == str(one.source):
            yield one


def command_for(caches: Sequence[BuildCache]) -> str:
    """The command that copies `caches` into a workspace that is seen at its tree."""
    touch = "" if all(one.in_home for one in caches) else _TOUCH
    return _OWN_PROGRAMS + "".join(map(_copy, caches)) + touch + _FORGET


def copy_all(source: Path) -> str:
    """The command that copies the files in `source`, which setup made, into a tree."""
    return _OWN_PROGRAMS + _COPY_ALL.format(source=shlex.quote(str(source)), brought=BROUGHT)


def _copy(cache: BuildCache) -> str:
    path = cache.target_path
    target = f'"$HOME"{shlex.quote(path[1:])}' if cache.in_home else shlex.quote(path)
    clear = "" if path == _HOME else 'rm -rf -- "$t"; '
    link = 'else\n  mkdir -p -- "${t%/*}" && ln -s -- "$s" "$t"\n'
    return _COPY.format(
        source=shlex.quote(str(cache.source)),
        target=target,
        brought=BROUGHT,
        largest=_LARGEST_COPY if cache.linked else _LARGEST,
        clear=clear,
        otherwise=link if cache.linked else "",
    )
