"""Which of the supervisor's environment variables are secret. Their values never reach the workshop, a journal or
a bundle."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:TOKEN|KEY|SECRET|CREDENTIALS?|PAT|AUTH)(?:$|_)|PASSW(?:OR)?D|APIKEY|_PWD$"
)
_SHORTEST = 8


def known_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Name and value of each variable that looks secret by its name; values under eight characters are not."""
    return {
        name: value
        for name, value in environment.items()
        if len(value) >= _SHORTEST and _SECRET_NAME.search(name.upper())
    }
