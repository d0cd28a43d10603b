"""Names of hosts, and what is none however it is written."""

import pytest

from bot.contracts.errors import UsageError
from bot.policy.registry_mirrors import PRESETS, Mirror, Target, authority, host_name, mirror, targets


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pypi.org:443", ("pypi.org", 443)),
        ("PyPI.org.:443", ("pypi.org", 443)),
        ("registry.npmjs.org:8443", ("registry.npmjs.org", 8443)),
    ],
)
def test_a_host_and_a_port(text: str, expected: tuple[str, int]):
    assert authority(text) == expected


NO_HOSTS = [
    "", ":443", "pypi.org", "pypi.org:", "pypi.org:0", "pypi.org:65536", "pypi.org:0443", "pypi.org:+443",
    "pypi.org: 443", " pypi.org:443", "pypi.org:443 ", "pypi.org\0.evil.example:443", "evil.example\0pypi.org:443",
    "user@pypi.org:443", "user:pass@pypi.org:443", "https://pypi.org:443", "pypi.org/x:443", "pypi.org?x:443",
    "pypi.org#x:443", "pypi.org\\x:443", "pypi%2eorg:443", "pypi.org..:443", ".pypi.org:443", "-pypi.org:443",
    "pypi-.org:443", "py_pi.org:443", "*.org:443", "localhost:443", "[::1]:443", "::1:443", "127.0.0.1:443",
    "127.1:443", "2130706433:443", "0x7f000001:443", "0x7f.1:443", "0177.0.0.1:443", "p\u0443pi.org:443",
    "pypi\u3002org:443", "pypi.\u2060org:443", "\u212aypi.org:443", "a" * 64 + ".org:443", "a." * 127 + "org:443",
    "pypi.org:44\u0663", "pypi.org:443:443", "pypi.org,evil.example:443", "pypi.org;evil.example:443",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_HOSTS, ids=ascii)
def test_what_is_no_host_is_refused(text: str):
    assert authority(text) is None


def test_a_label_may_have_63_characters_and_a_name_253():
    longest = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])
    assert host_name(longest) == longest
    assert host_name("x" + longest) == ""


def test_presets_lead_to_registries_alone():
    assert PRESETS == ("python", "node", "go", "rust", "java", "ruby", "dotnet")
    hosts = {target.host for target in targets(PRESETS)}
    assert {target.port for target in targets(PRESETS)} == {443}
    assert not any(target.private for target in targets(PRESETS))
    assert not {host for host in hosts if "github" in host or "anthropic" in host or "openai" in host}
    assert targets(()) == frozenset()


def test_a_mirror_stands_in_place_of_its_preset():
    target = Target("packages.corp.example", 8443, private=True)
    found = targets(
        ["python", "node"], [Mirror("python", target, "https://packages.corp.example:8443/simple")]
    )
    assert found == {target, Target("registry.npmjs.org", 443)}


def test_a_mirror_is_named_by_preset_and_address():
    assert mirror("python=https://packages.corp.example:8443/simple") == Mirror(
        "python",
        Target("packages.corp.example", 8443, private=True),
        "https://packages.corp.example:8443/simple",
    )
    assert mirror("node=https://npm.corp.example").target.port == 443


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("perl=https://cpan.example/", "no preset"),
        ("https://packages.example/", "no preset"),
        ("python=http://packages.example/simple", "https://host/path"),
        ("python=packages.example", "https://host/path"),
        ("python=https://10.0.0.1/simple", "no IP address"),
        ("python=https://[fd00::1]/simple", "no IP address"),
        ("python=https://packages/simple", "no single word"),
        ("python=https://packages.example./simple", "no dot at its end"),
        ("python=https://packages.example.:8443/simple", "no dot at its end"),
        ("python=https://packages.example/simple?x=1", "https://host/path"),
        ("python=https://user:secret@packages.example/simple", "every command could read"),
    ],
)
def test_what_is_no_mirror_is_refused(text: str, why: str):
    with pytest.raises(UsageError, match=why) as refused:
        mirror(text)
    assert "secret" not in str(refused.value)


def test_an_unknown_preset_is_refused_with_the_known_ones():
    with pytest.raises(
        UsageError, match=r'no egress preset "pyhton"\. There are: python, node, go, rust, java'
    ):
        targets(["pyhton"])
