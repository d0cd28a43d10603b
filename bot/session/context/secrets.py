"""The secrets among the supervisor's environment variables: their values must not reach a workspace, a journal or a
bundle."""

import os
import re
from collections.abc import Callable, Mapping
from urllib.parse import unquote

from bot.gate.redact import base64_forms

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:TOKEN|KEY|SECRET|CREDENTIALS?|PAT|AUTH)(?:$|_)|PASSW(?:OR)?D|APIKEY|_PWD$"
)
_SHORTEST = 8
_LOGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([^/@\s]*:([^/@\s]+))@")
# A setting and no secret, whatever its variable is called: `required`, `/tmp/ssh/agent.7`, `https://host/path`.
_DULL = re.compile(r"[a-z]{1,16}|/[\w./-]+|https?://[^@?#]*")


def known_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Name and value of each variable that looks secret by its name, and the password of each address that has one, as
    of a proxy or a database; values under eight characters are not."""
    secrets: dict[str, str] = {}
    for name, value in environment.items():
        if login := _LOGIN.search(value):
            whole, password = login.groups()
            # One too short to be looked for by itself is looked for with the name before it.
            secrets[name] = password if len(password) >= _SHORTEST else whole
            if (plain := unquote(password)) != password:
                secrets[f"{name}, decoded"] = plain
        elif len(value) >= _SHORTEST and _SECRET_NAME.search(name.upper()):
            is_dull = _DULL.fullmatch(value) and (not value.startswith("/") or os.path.exists(value))
            if not is_dull:
                secrets[name] = value
    return secrets


def mask_all(secrets: Mapping[str, str], mask: Callable[[str], None]) -> None:
    """Register each of `secrets` and its base64 forms with `mask`: the runner masks exact strings only."""
    for value in secrets.values():
        if len(value) >= _SHORTEST:
            for form in dict.fromkeys((value, *base64_forms(value))):
                mask(form)
