"""Tell which version of a tool a repository selects and its version manager does not have."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from bot.contracts.plain_text import quoted
from bot.ecosystems.registry import ecosystems


def missing_versions(
    source: Mapping[str, str], path: str, texts_of: Callable[[Sequence[str]], Mapping[str, str]]
) -> Iterator[str]:
    """Yield a sentence for each version that the repository selects by one of its files and that the version manager
    whose shims are in `path` does not have."""
    home = Path.home()
    entries = path.split(":") if "HOME" in source else ()
    pins = [pin for one in ecosystems() for pin in one.pins]
    texts = texts_of(sorted({pin.file for pin in pins}))
    for pin in pins:
        if pin.file not in texts or str(home / pin.shims) not in entries or source.get(pin.variable):
            continue
        for match in re.finditer(pin.pattern, texts[pin.file], re.MULTILINE):
            version, tool = match["version"], match.groupdict().get("tool", "")
            versions = home / pin.versions.format(tool=tool)
            have = os.listdir(versions) if versions.is_dir() else []
            fits = re.compile(rf"{re.escape(version)}([.-]|$)")
            if version != "system" and not any(map(fits.match, have)):
                yield (
                    f"{pin.manager} has no version for this repository: {pin.file} names "
                    f"{quoted(f'{tool} {version}'.strip())}, which is not in {versions}. Until it is installed "
                    f"(`{pin.install.format(tool=tool, version=version)}`), what needs it cannot run."
                )
