"""Installs of the repository's own packages: find the folders of the changed tree that Python must import from, in
place of copies, and of the path that editable installs name if the tree is not there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from bot.ecosystems.python_environments import PACKAGE, hooks, leads
from bot.workspace.sandbox.confinement import Dependencies, EnvironmentFolder


def dependencies(
    folders: Sequence[EnvironmentFolder], tops: Sequence[Path], tracked: Iterable[str]
) -> Dependencies:
    """`folders`, with the folders of the tree that Python must import from. `tops` are the paths that editable installs
    of the repository name: the checkout, or the tree that `setup:` ran in."""
    known = {"."}
    packages: dict[str, str] = {}
    for path in tracked:
        if package := PACKAGE.fullmatch(path):
            packages[package["file"]] = package["folder"] or "."
        while path := path.rpartition("/")[0]:
            known.add(path)
    import_from: dict[str, None] = {}
    copies: dict[str, None] = {}
    for site in _site_packages(folders):
        for file, folder in packages.items():
            if (site / file).is_file() and os.path.realpath(site / file) == str(site / file):
                copies[folder] = None
        for name, text in hooks(site):
            added = list(leads(site, name, text, tops))
            if added and known.issuperset(added):
                import_from |= dict.fromkeys(added)
    return Dependencies(tuple(folders), tuple(import_from), tuple(copies))


def _site_packages(folders: Iterable[EnvironmentFolder]) -> Iterator[Path]:
    for folder in folders:
        if folder.programs == "bin":
            for site in sorted(folder.source.glob("lib/python3*/site-packages")):
                if os.path.realpath(site) == str(site):
                    yield site
