"""What text may still do after the gate: be read."""

import random
import re
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.gate import clean_text as gate_text
from bot.gate import links_and_markdown as blocks
from bot.gate.clean_text import clean_line, clean_markdown, clean_message, split_code
from bot.publish.change.commit import clean_message as commit_message
from tests.support.outcomes import make_outcome, make_request
from tests.support.text_oracle import fault, live
from tests.support.text_oracle import text as random_text

BREAK = "\u200b"


def markdown(text: str) -> str:
    return clean_markdown(text, 100_000)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Fix the\n\tempty   list", "Fix the empty list"),
        ("\x1b[31mred\x07", "[31mred"),
        ("a\u202eb\u200bc\U000e0041", "abc"),
        ("/agent fix this", f"{BREAK}/agent fix this"),
        ("ping @ada and @org/team", f"ping @{BREAK}ada and @{BREAK}org/team"),
        ("Fixes #12", f"Fixes{BREAK} #12"),
        ("closes: octo/repo#3", f"closes{BREAK}: octo/repo#{BREAK}3"),
        ("::set-output name=x::y", f"{BREAK}::set-output name=x::y"),
        ("Tidy up [skip ci]", f"Tidy up [{BREAK}skip ci]"),
        ("[CI Skip] [no ci] [actions skip]", f"[{BREAK}CI Skip] [{BREAK}no ci] [{BREAK}actions skip]"),
        ("skip-checks: true", f"skip-{BREAK}checks: true"),
        ("a[skip] and [no]", "a[skip] and [no]"),
    ],
)
def test_a_line_is_plain(text: str, clean: str):
    assert clean_line(text, 200) == clean


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("see <!-- hidden --> this", f"see <{BREAK}!-- hidden --> this"),
        ("<!<!-- x -->-- y -->", f"<{BREAK}!<{BREAK}!-- x -->-- y -->"),
        ("unterminated <!-- rest", f"unterminated <{BREAK}!-- rest"),
        ("![x](https://github.com/x.png)", f"!{BREAK}[x](https://github.com/x.png)"),
        ("\\![x](x.png)", f"\\!{BREAK}[x](x.png)"),
        ("<img src=x>", f"<{BREAK}img src=x>"),
        ("a < b and c > d", "a < b and c > d"),
        ("text\n  /agent fix", f"text\n  {BREAK}/agent fix"),
        ("> /close", f"> {BREAK}/close"),
        ("&sol;&colon; &nbsp;&lt;", f"&{BREAK}sol;&{BREAK}colon; &nbsp;&lt;"),
        ("Resolves https://github.com/a/b/issues/1", f"Resolves{BREAK} https://github.com/a/b/issues/1"),
        ("fixes the list", "fixes the list"),
        ("Fixes **#1**", f"Fixes{BREAK} **#1**"),
        ("Fixes \\#1", f"Fixes{BREAK} \\#1"),
        ("&#64;ada &commat;ada &amp; b", f"&{BREAK}#64;ada &{BREAK}commat;ada &amp; b"),
        ("a/b and 1/2", "a/b and 1/2"),
    ],
)
def test_markdown_says_and_does_nothing(text: str, clean: str):
    assert markdown(text) == clean


def test_code_is_left_as_it_is():
    text = "before\n```python\n@decorator\n# fixes it <!-- x -->\n/agent\n```\nand `inline` code\n"
    assert markdown(text) == text


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("Fixes #1", "words that would act in a commit message"),
        ("[skip ci]", "words that would act in a commit message"),
        ("a\u202eb", "characters that do not show"),
        ("a\u200bb", "characters that do not show"),
        ("a\U000e0041b", "characters that do not show"),
        ("\x1b[31m", "characters that do not show"),
        ("key = [redacted API_KEY]", "a secret, which is masked"),
        ("key = [redacted: AWS key]", "a secret, which is masked"),
    ],
)
def test_a_code_block_is_held_back_and_never_rewritten(code: str, reason: str):
    """A squash merge may make a commit message of a pull request's body, and fences mean nothing there."""
    held = f"```text\n(a code block was held back: it holds {reason})\n```\n"
    assert markdown(f"before\n```yaml\n{code}\n```\nafter\n") == f"before\n{held}after\n"
    assert markdown(held) == held


@pytest.mark.parametrize(
    "code", ["fixes #1", "@ada", "::error::a", "/agent fix", "https://elsewhere.example"]
)
def test_what_acts_in_a_commit_message_does_so_in_code_too(code: str):
    held = "```text\n(a code block was held back: it holds words that would act in a commit message)\n```\n"
    assert clean_message(f"@a\n```\n{code}\n```\nb", 200) == f"@{BREAK}a\n{held}b"
    assert clean_message("```\na = b\n```\n", 200) == "```\na = b\n```\n"


def test_an_indented_or_longer_fence_is_one_too():
    text = "  ~~~~\n@a\n~~~\n@b\n  ~~~~\n"
    assert markdown(text) == "~~~~\n@a\n~~~\n@b\n~~~~\n"


def test_a_fence_in_a_list_hides_nothing_that_follows_the_list():
    """A list item that ends takes its open fence with it, so an indented fence would not reach this far."""
    assert markdown("- a\n\n  ```\n@ada\n") == f"- a\n\n  ```\n@{BREAK}ada\n"
    assert markdown("- ```\n@ada\n") == f"- ```\n@{BREAK}ada\n"


def test_a_tilde_fence_may_have_backticks_in_its_first_line():
    assert markdown("~~~ a`b\n@x\n~~~\n@y") == f"~~~text\n@x\n~~~\n@{BREAK}y"


def test_a_fence_that_is_left_open_is_closed():
    assert markdown("```\n@a") == "```\n@a\n```\n"


def test_a_cut_inside_a_fence_closes_it():
    assert clean_markdown("```\n" + "x" * 100 + "\n```\n", 50).endswith("…\n```\n")


@pytest.mark.parametrize("text", ["\\`@ada`", "`a\nb` @ada `", "`` ` @ada", "`@ada`"])
def test_backticks_protect_no_mention(text: str):
    """Where inline code begins and ends depends on escapes and on other lines."""
    assert f"@{BREAK}ada" in markdown(text)


ADDRESSES = {
    "inline": ("[x](https://evil.example/?q=s)", f"[x]{BREAK}(https:{BREAK}//evil.example/?q=s)"),
    "in angle brackets": ("[x](<https://evil.example>)", f"[x]{BREAK}(<{BREAK}https:{BREAK}//evil.example>)"),
    "over a line's end": ("[x](\nhttps://evil.example)", f"[x]{BREAK}(\nhttps:{BREAK}//evil.example)"),
    "of the page's scheme": ("[x](//evil.example)", f"[x]{BREAK}(//evil.example)"),
    "with backslashes": ("[x](https:\\\\evil.example)", f"[x]{BREAK}(https:{BREAK}\\\\evil.example)"),
    "without slashes": ("[x](https:evil.example)", f"[x]{BREAK}(https:evil.example)"),
    "a script": ("[x](javascript:alert(1))", f"[x]{BREAK}(javascript:alert(1))"),
    "a definition": ("[r]: https://evil.example", f"[r]{BREAK}: https:{BREAK}//evil.example"),
    "a definition in a list": ("> - [a\nb]: /x", f"> - [a\nb]{BREAK}: /x"),
    "an autolink": ("<https://evil.example>", f"<{BREAK}https:{BREAK}//evil.example>"),
    "a bare address": ("at HTTPS://evil.example", f"at HTTPS:{BREAK}//evil.example"),
    "a bare name": ("at www.evil.example", f"at www{BREAK}.evil.example"),
    "a mailbox": ("mailto:a@evil.example", f"mailto{BREAK}:a@{BREAK}evil.example"),
    "by an entity": ("[x](https&colon;//evil.example)", f"[x]{BREAK}(https&{BREAK}colon;//evil.example)"),
    "by a number": ("[x](&#47;/evil.example)", f"[x]{BREAK}(&{BREAK}#47;/evil.example)"),
    "a name before the host": ("https://github.com@evil.example/", f"https:{BREAK}//github.com@{BREAK}evil.example/"),
    "a longer host": ("https://github.com.evil.example/", f"https:{BREAK}//github.com.evil.example/"),
    "another port": ("https://github.com:8443/", f"https:{BREAK}//github.com:8443/"),
    "an image in a link": ("[![i](a.png)](https://e)", f"[!{BREAK}[i](a.png)]{BREAK}(https:{BREAK}//e)"),
    "on the list": ("[x](https://github.com/o/r/issues/1)", "[x](https://github.com/o/r/issues/1)"),
    "with a query": ("[x](https://github.com/o/r?title=s&b=t) y", "[x](https://github.com/o/r) y"),
    "bare with a query": ("https://github.com/o/r?a=b, see", "https://github.com/o/r see"),
    "lines of a file": ("[x](https://github.com/o/r/blob/a/b.py#L1-L2)", "[x](https://github.com/o/r/blob/a/b.py#L1-L2)"),
    "of the repository": ("[x](docs/a.md#b) [y](#z) [z](/o/r)", "[x](docs/a.md#b) [y](#z) [z](/o/r)"),
    "an index": ("d[k](x) and dict[str]: x", "d[k](x) and dict[str]: x"),
}  # fmt: skip


@pytest.mark.parametrize("name", ADDRESSES)
def test_an_address_stays_where_it_is_on_the_list(name: str):
    text, clean = ADDRESSES[name]
    assert markdown(text) == clean
    assert markdown(clean) == clean


def test_no_address_in_code_is_touched():
    text = "```\ncurl https://evil.example/?q=1 [x](https://e) [r]: y\n```\n"
    assert markdown(text) == text


@given(st.text(alphabet=st.sampled_from("@`~/#<!->[]()\n aF:?.&;w\u200b\ufe0f"), max_size=200))
def test_cleaning_twice_is_cleaning_once(text: str):
    once = markdown(text)
    assert markdown(once) == once


@given(st.text(max_size=200), st.integers(10, 100))
def test_a_line_is_one_line_of_visible_text_within_its_limit(text: str, limit: int):
    clean = clean_line(text, limit)
    assert len(clean) <= limit
    assert "\n" not in clean
    assert all(unicodedata.category(char) not in ("Cc", "Cs") for char in clean)


@pytest.mark.parametrize(
    "text",
    [
        "[](" * 30_000, "![" * 50_000, "<!--" * 30_000, "`" * 100_000, "`a" * 50_000, "fixes " * 20_000,
        "~~~\n" * 30_000, "@" * 100_000, "close" + " " * 100_000, "[a" * 50_000, "[\n" * 50_000,
        "](" * 50_000, "](https://github.com/" * 5_000, "FIXES" * 6_000, "fixes a-" * 6_000, "A-A" * 10_000,
        "A-1" + " #" * 15_000, "A" * 30_000, "https://github.com/?" * 5_000, "a:/" * 30_000, "&a" * 50_000,
    ],
)  # fmt: skip
def test_a_hostile_text_costs_linear_time(text: str):
    text = text[:15_000]
    started = time.process_time()
    markdown(text)
    assert time.process_time() - started < 1.5


@pytest.mark.parametrize(
    "line",
    [
        'click A "https://evil.example/?q=1"', 'A@{ img: "//evil.example/a.png" }', 'A["<img src=x>"]',
        'click A href "javascript:x"',
    ],
)  # fmt: skip
@pytest.mark.parametrize("opening", ["```mermaid", "~~~ Mermaid", "````geojson"])
def test_a42_a_drawing_that_leads_elsewhere_is_held_back(opening: str, line: str):
    fence = opening.split("m")[0].split("g")[0].split(" ")[0].rstrip("M")
    shown = clean_markdown(f"See:\n{opening}\ngraph TD\n{line}\n{fence}\nEnd.", 5000)
    assert "(a code block was held back: it holds a drawing with a link or a picture)" in shown
    assert "evil" not in shown
    assert shown.endswith("End.")


def test_a_drawing_that_leads_nowhere_and_code_with_links_stay():
    for block in ("```mermaid\ngraph TD; A-->B\n```\n", '```html\n<img src="https://a.example/x">\n```\n'):
        assert clean_markdown(block, 5000) == block


@pytest.mark.parametrize("separator", "\v\f\x1c\x1d\x1e\x85\u2028\u2029\0\u200b\ud83d")
@pytest.mark.parametrize("fence", ["~~~", "```"])
def test_a56_a_line_ends_at_a_line_feed_only(separator: str, fence: str):
    assert live(markdown(f"Hello{separator}{fence}\n@org/team\n")) == []
    assert f"@{BREAK}org/team" in markdown(f"Hello{separator}{fence}\n@org/team\n")


@pytest.mark.parametrize(
    "opening",
    ["~~~suggestion `", "```suggestion", "~~~&#115;uggestion", "> ~~~suggestion `",
     "1. ```\\suggestion", "```Suggestion:-0+1"],
)  # fmt: skip
def test_a57_no_fence_in_any_form_makes_a_suggestion(opening: str):
    mark = opening[: opening.find(opening.lstrip("> 1.")[0])].replace("1. ", "   ")
    shown = markdown(f"{opening}\n{mark}@ada\n")
    assert live(shown) == []
    assert "uggestion" not in shown


@pytest.mark.parametrize(
    "text",
    [
        '~~~&#109;ermaid `\ngraph TD\nclick A "https://e.example"\n~~~',
        '> ```mermaid\n> graph TD\n> click A "//e.example"\n> ```',
        '- ~~~mermaid\n  graph TD\n  A@{ img: "//e.example/a.png" }\n  ~~~',
        "```math\n\\href{/\\e.example}{x}\n```",
    ],
)
def test_a58_no_drawing_with_a_link_leaves_in_any_block(text: str):
    shown = markdown(text)
    assert live(shown) == []
    assert not re.search(r"(?:`{3}|~{3})(?:mermaid|math|&)", shown)


@pytest.mark.parametrize("space", [" " * 25, "&nbsp;", "\u00a0", "\n> ", "\\\n", " &nbsp; **", "\t\u2003"])
def test_a59_no_white_space_closes_an_issue(space: str):
    assert f"Fixes{BREAK}" in markdown(f"Fixes{space}#12")
    assert live(markdown(f"> Fixes{space}#12")) == []


TRACKERS = {
    "Fixes ENG-123": "Fixes~ ENG-123",
    "closing lin-12": "closing~ lin-12",
    "This completes **[ENG-7]**, too": "This completes~ **[ENG-7]**, too",
    "fix(ENG-12): sums": "fix~(ENG-12): sums",
    "Closes group/sub/project#3": "Closes~ group/sub/project#~3",
    "Implements org/repo!3": "Implements~ org/repo!3",
    "fixed AB#12": "fixed~ AB#~12",
    "AB#12 is done": "AB#~12 is done",
    "[finishes #123]": "[finishes~ #123]",
    "(delivers #123)": "(delivers~ #123)",
    "Fixes T123": "Fixes~ T123",
    "resolves DE1234": "resolves~ DE1234",
    "fixes bug 123": "fixes~ bug~ 123",
    "Fixed: 40012": "Fixed~: 40012",
    "Resolves: rhbz#2001": "Resolves~: rhbz#~2001",
    "Closes-Bug: #12": "Closes~-Bug~: #12",
    "LP: #12": "LP~: #12",
    "Bug 123 - sums": "Bug~ 123 - sums",
    "Task: storyboard/123": "Task~: storyboard/123",
    "US123 #done": "US123 #~done",
    "[#12 state:resolved]": "[~#12 state:resolved]",
    "reopens ticket #4": "reopens~ ticket #4",
    "PROJ-1 #close": "PROJ-1 #~close",
    "PROJ-12 #time 2h #comment so": "PROJ-12 #~time 2h #~comment so",
    "see PROJ-1, PROJ-2 **#resolve**": "see PROJ-1, PROJ-2 **#~resolve**",
    "#PROJ-12 fixed": "#~PROJ-12 fixed",
    "^PROJ-12 Done": "^~PROJ-12 Done",
    "[sc-123] sums": "[sc-~123] sums",
    "[ch123] sums": "[ch~123] sums",
    "CU-86a1b2c[done] and #86a1b2c[in review]": "CU-~86a1b2c[done] and #~86a1b2c[in review]",
}


@pytest.mark.parametrize("text", TRACKERS)
def test_a59_no_text_closes_an_issue_of_another_tracker(text: str):
    broken = TRACKERS[text].replace("~", BREAK)
    assert clean_line(text, 200) == markdown(text) == clean_message(text, 200) == broken
    if text not in ("Bug 123 - sums", "Fixed: 40012", "Task: storyboard/123"):
        held = (
            "```text\n(a code block was held back: it holds words that would act in a commit message)\n```\n"
        )
        assert markdown(f"```\n{text}\n```\n") == held


@pytest.mark.parametrize(
    "text",
    [
        "Fix UTF-8 decoding, as RFC-3629 says", "Resolve CVE-2024-1234", "PROJ-12: Round late", "See PROJ-12 and #3.",
        "Fix 3 tests of 14", "The fix for S3 and x-1", "fixes the sum of ENG-1", "the `#close` label", "# A heading",
        "PROJ-1: see [above](#sums) and docs/a.md#close", "close(fd-1); a[b-1] = resolve(x); done[i-2]",
        "#include <a.h>", "color: #fff", "addresses[0]", "ch1 and sc1", "debug 12",
    ],
)  # fmt: skip
def test_a_key_or_a_word_alone_stays_as_it_is(text: str):
    assert clean_line(text, 200) == text


def test_a60_no_text_leaves_notes_in_other_repositories_or_in_many_threads():
    assert markdown("see other/repo#1, ada#2 and #3") == f"see other/repo#{BREAK}1, ada#{BREAK}2 and #3"
    assert len(re.findall(r"#\d", markdown("".join(f"#{n} " for n in range(5178))))) == 50


@pytest.mark.parametrize("text", ["_fixes #1_", "[](x)/agent", "- [ ] [r]: //e.example\n\n[r]", "12https://e.example",
                                  "a@.example.org", "_www.e.example_"])  # fmt: skip
def test_a61_what_the_patterns_miss_leaves_as_code(text: str):
    assert live(markdown(text)) == []
    assert markdown(markdown(text)) == markdown(text)


@pytest.mark.parametrize("text", ["![x](https://evil.example/?leak)", "<b>bold</b>", "@octocat, look"])
def test_a61_what_cleaning_missed_comes_out_as_code(text: str, monkeypatch: pytest.MonkeyPatch):
    """No text is known that cleaning misses, so cleaning is switched off."""
    monkeypatch.setattr(gate_text, "_harmless_markdown", str)
    assert markdown(text) == f"```\n{text}\n```\n"


def test_random_texts_do_nothing_on_the_page_of_cmark_gfm():
    source = random.Random(20)
    assert [
        (sample, found) for sample in (random_text(source) for _ in range(250)) if (found := fault(sample))
    ] == []


def test_a_block_in_a_list_stays_where_it_is_if_nothing_in_it_acts():
    text = "1. Run\n   ```sh\n   make # all\n   ```\n2. Then:\n\n   ~~~\n   x\n   ~~~\n"
    assert markdown(text) == text
    assert clean_markdown(text * 1000, 10**9).count("make") < 1500, "GitHub takes 65,536 characters"


@pytest.mark.parametrize(
    "text",
    [
        "| https://github.com/o/r?q=s\u200b|    > </pre>",
        "*    > 1. https://github.com/o/r?q=s\x0c| *  */agent*",
        "  - # [](x)/agent\u20291. |   ```mermaid\n\t|-|-|", "x+>x)**;<\n /~x@.) [\u2028#+*/$\\:+~)",
        "/~agent~ fix", "+ | - |\r |-|-|\n\n    > [](x)/agent\n", "<<#x|x@1@\\.x:>", "# [](x)/**agent** fix",
    ],
)  # fmt: skip
def test_a61_what_the_oracle_found_acts_no_more(text: str):
    assert fault(text) == ""


def test_a61_a_text_that_takes_its_parser_too_long_leaves_as_code(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(blocks, "SECONDS", -1.0)
    text = "Look, @ada:\n```py\nx\n```\n"
    assert markdown(text) == f"````\n{text}````\n"
    assert clean_message("@ada:\n```py\n@bob\n```\n", 100) == f"@{BREAK}ada:\n```py\n@{BREAK}bob\n```\n"
    assert list(split_code("a\u202e\n```py\nx\n```\n")) == [(False, "a\n```py\nx\n```\n")]


def test_a60_a_commit_links_to_no_thread_of_another_repository():
    request = make_request(repository="o/r", clone_url="https://ghe.example/o/r.git")
    for host in ("github.com", "ghe.example"):
        text = f"Tidy up\n\nSee https://{host}/other/repo/issues/1 and https://github.com/o/r/pull/2."
        message = commit_message(text, make_outcome(request=request))
        assert f"https://{host}/other" not in message
        assert "https://github.com/o/r/pull/2" in message
