"""A certificate authority for tests."""

import datetime
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_FROM = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
_UNTIL = datetime.datetime(2120, 1, 1, tzinfo=datetime.UTC)


def make_authority(folder: Path, hosts: Sequence[str]) -> tuple[Path, Path]:
    """Two files: the authority's certificate for clients to trust, and key and certificate of a server for `hosts`."""
    root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Tests' authority")])
    certificate = _certificate(root, root, root_key.public_key()).add_extension(
        x509.BasicConstraints(ca=True, path_length=0), critical=True
    ).add_extension(
        x509.KeyUsage(False, False, False, False, False, True, True, False, False), critical=True
    ).add_extension(
        x509.SubjectKeyIdentifier.from_public_key(root_key.public_key()), critical=False
    )  # fmt: skip
    signed = certificate.sign(root_key, hashes.SHA256())
    leaf = _certificate(
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0])]), root, key.public_key()
    ).add_extension(
        x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts]), critical=False
    ).add_extension(
        x509.AuthorityKeyIdentifier.from_issuer_public_key(root_key.public_key()), critical=False
    ).sign(root_key, hashes.SHA256())  # fmt: skip
    pem = serialization.Encoding.PEM
    authority, server = folder / "authority.pem", folder / "server.pem"
    authority.write_bytes(signed.public_bytes(pem))
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    server.write_bytes(private + leaf.public_bytes(pem))
    return authority, server


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder(issuer, subject, key, x509.random_serial_number())
    return builder.not_valid_before(_FROM).not_valid_after(_UNTIL)
