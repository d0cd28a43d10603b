"""What a workshop with a way out is given: the proxy, and the variables by which package managers find it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bot.egress.door import ADDRESS, PORT, listener_inside
from bot.egress.presets import Mirror, targets

if TYPE_CHECKING:
    from bot.egress.limits import Caps
    from bot.egress.proxy import Proxy
    from bot.egress.tunnel import Resolve

_PROXY = {
    **dict.fromkeys(("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"), ADDRESS),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "localhost,127.0.0.1,::1"),
}

# Java reads no such variables. Maven 3.9 asks for the last one, older ones do not.
_MAVEN = " ".join(
    (
        *(f"-D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort={PORT}" for scheme in ("http", "https")),
        "-Daether.connector.http.useSystemProperties=true",
    )
)

# A package's own scripts would run with the way out open: whoever needs them says so in the command (--no-binary,
# --ignore-scripts=false). Go asks GitHub for what its proxy does not have, which is not on any list.
_QUIET = {
    "PIP_ONLY_BINARY": ":all:",
    "npm_config_ignore_scripts": "true",
    "YARN_ENABLE_SCRIPTS": "false",
    "GOPROXY": "https://proxy.golang.org",
    "GOTOOLCHAIN": "local",
    "MAVEN_OPTS": _MAVEN,
}

_CA = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "PIP_CERT",
    "NODE_EXTRA_CA_CERTS",
    "CARGO_HTTP_CAINFO",
)

_INDEX = {"python": "PIP_INDEX_URL", "node": "npm_config_registry", "go": "GOPROXY"}
"""Which variable names a mirror. Cargo has none: a repository that uses one has it in its own configuration."""


@dataclass(frozen=True, slots=True)
class WayOut:
    """`presets` may be reached, each at its mirror where `mirrors` has one. `ca` is a file of certificates that
    mirrors need, seen inside at its own path. `opened` is told of each proxy."""

    presets: tuple[str, ...]
    mirrors: tuple[Mirror, ...] = ()
    ca: Path | None = None
    resolve: Resolve | None = None
    caps: Caps | None = None
    opened: Callable[[Proxy], None] = lambda proxy: None

    def variables(self) -> Mapping[str, str]:
        """What every command inside has in its environment."""
        own = {_INDEX[mirror.preset]: mirror.url for mirror in self.mirrors if mirror.preset in _INDEX}
        trusted = dict.fromkeys(_CA, str(self.ca)) if self.ca else {}
        return {**_PROXY, **_QUIET, **own, **trusted}

    def files(self) -> Sequence[Path]:
        """What must be seen inside."""
        return (self.ca,) if self.ca else ()

    def open(self, pid: int) -> Proxy:
        """The proxy, in the network of process `pid`. Raises `NoSandboxError`."""
        from bot.egress.proxy import Proxy, system_addresses

        reachable = targets(self.presets, self.mirrors)
        resolve = self.resolve or system_addresses
        proxy = Proxy(listener_inside(pid), reachable, resolve=resolve, caps=self.caps)
        self.opened(proxy)
        return proxy
