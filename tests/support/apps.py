"""A GitHub App on a forge, with its private key."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from slash_forge import Forge


@dataclass(frozen=True)
class App:
    """`key` is the private one, in PEM."""

    id: int
    key: str = field(repr=False)

    @property
    def environment(self) -> dict[str, str]:
        return {"SLASH_AGENT_APP_ID": str(self.id), "SLASH_AGENT_APP_PRIVATE_KEY": self.key}


def make_app(
    forge: Forge,
    owner: str,
    permissions: Mapping[str, Literal["read", "write"]],
    repositories: Sequence[str] | None = None,
    slug: str = "my-app",
) -> App:
    """An app of `owner`'s that is installed on all of their repositories, or some."""
    private, public = keys("another" if slug == "other" else "")
    number = forge.register_app(slug, public, permissions, owner=owner)
    forge.install_app(number, owner, *([repositories] if repositories is not None else []))
    return App(number, private)


@functools.cache
def keys(which: str) -> tuple[str, str]:
    """A private and a public one in PEM, made once a process: it takes a quarter of a second on the average."""
    key = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private.decode(), public.decode()
