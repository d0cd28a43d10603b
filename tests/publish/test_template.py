"""The repository's pull-request template, filled or kept."""

import pytest

from bot.publish.body.order_and_footer import PARTS as NAMES
from bot.publish.body.repository_template import TEMPLATE_LIMIT, fill_template
from bot.publish.remote import TEMPLATE_NAME

PARTS = {name: name.upper() for name in NAMES}


def order(body: str, *texts: str) -> bool:
    places = [body.index(text) for text in texts]
    return places == sorted(places)


def test_our_parts_go_under_the_headings_that_ask_for_them():
    template = "## Description\nhint\n## Related issue\nFixes #(issue)\n## How was this tested?\n...\n"
    body = fill_template(template, PARTS)
    named = "ALERT|ASKED|## Description|CHANGE|## Related issue|CLOSING|## How was this|EVIDENCE"
    assert order(body, *named.split("|"))
    assert order(body, "EVIDENCE", "FILES", "REMARKS", "RUN")


def test_placeholder_lines_of_a_filled_heading_give_way_and_its_comments_stay():
    template = "## What changed\n<!-- tell us\nall -->\nReplace this line.\n<!-- licence: MIT -->\n"
    body = fill_template(template, PARTS)
    assert order(body, "## What changed", "<!-- tell us\nall -->", "CHANGE", "<!-- licence: MIT -->")
    assert "Replace this" not in body


FOR_PEOPLE = [
    "## Why <!-- HUMAN ONLY -->\n\nReplace this.\n",
    "## Why\n\n<!-- AI must not write here -->\n\nReplace this.\n",
    "## Why (to be written by a human)\n\nReplace this.\n",
    "## Why\n\nIn your own words, please.\n\n### Details\n\nReplace this.\n",
    "## Motivation\n\nLLM-generated text is not accepted in this part.\n\n- [ ] I wrote this\n",
    "## For reviewers only: tests\n\n- [ ] looked at\n",
]


@pytest.mark.parametrize("part", FOR_PEOPLE)
def test_a_part_for_people_stays_as_it_stands(part: str):
    body = fill_template(f"## Summary\n\n{part}\n## Tests\n", PARTS)
    assert f"\n\n{part.strip()}\n\n" in body
    assert order(body, "ASKED", "## Summary", "CHANGE", part.splitlines()[0], "## Tests\n\nEVIDENCE")


def test_a_note_right_above_a_heading_is_about_it_too():
    part = "## Notes\n\nTell.\n\n<!-- HUMAN ONLY -->\n\n## Tests\n\nReplace this."
    assert f"\n\n{part}\n\n" in fill_template(f"## Summary\n\n{part}\n\n## Checklist\n", PARTS)


def test_a_note_for_people_above_all_headings_is_about_the_whole_template():
    template = "<!-- No AI in this form. -->\n\n## Summary\n\nhint\n\n## Tests\n\n- [ ] run"
    body = fill_template(template, PARTS)
    assert body.endswith(f"---\n\n{template}")
    assert order(body, "CHANGE", "EVIDENCE", "---")


def test_words_that_only_resemble_such_a_note_are_none():
    body = fill_template(
        "## Summary\n<!-- Human-readable description. The user agent goes here. -->\n", PARTS
    )
    assert order(body, "## Summary", "-->", "CHANGE")


def test_a_checkbox_keeps_the_lines_below_it():
    body = fill_template("## Summary\nPlaceholder.\n- [ ] a\n  more of a\n\n  - [ ] b\nother\n", PARTS)
    assert "CHANGE\n\n- [ ] a\n  more of a\n  - [ ] b" in body
    assert "other" not in body


def test_checkboxes_stay_unticked_also_under_a_heading_we_filled():
    body = fill_template("## Summary\n- [ ] bug fix\n- [ ] feature\n\n## Testing\n- [ ] unit tests\n", PARTS)
    assert order(body, "CHANGE", "- [ ] bug fix", "- [ ] feature", "EVIDENCE", "- [ ] unit tests")
    assert "[x]" not in body


def test_headings_that_we_have_nothing_for_stay_as_they_are():
    template = (
        "## Summary\n\n## Screenshots\n<!-- before and after -->\n\n## Checklist for changes\n- [ ] docs\n"
    )
    body = fill_template(template, PARTS)
    assert "## Screenshots\n\n<!-- before and after -->" in body
    assert "## Checklist for changes\n\n- [ ] docs" in body


def test_each_part_is_said_once():
    body = fill_template("## Summary\n## Description\n## Tests\n## Testing done\n", PARTS)
    assert [body.count(part) for part in ("CHANGE", "EVIDENCE", "ASKED", "FILES", "RUN")] == [1, 1, 1, 1, 1]


def test_a_template_that_we_do_not_understand_is_kept_beneath():
    template = "## Was\n\n- [ ] gelesen\n"
    body = fill_template(template, PARTS)
    assert order(body, "CHANGE", "EVIDENCE", "RUN", "---", "## Was", "- [ ] gelesen")


@pytest.mark.parametrize("opened", ["<!-- never closed", "```\nnever closed", "~~~ text\nnever"])
def test_what_a_template_leaves_open_does_not_swallow_our_parts(opened: str):
    closed = {"<": "-->", "`": "```", "~": "~~~"}[opened[0]]
    body = fill_template(f"## Summary\n## Notes to self\n{opened}\n## Hidden\n", PARTS)
    assert order(body, opened, f"## Hidden\n{closed}", "FILES", "RUN")


def test_a_heading_inside_a_fence_or_comment_is_none():
    body = fill_template("## Summary\n## Other\n```\n## Testing\n```\n<!--\n## Why\n-->\n", PARTS)
    assert "### Evidence\n\nEVIDENCE" in body
    assert order(body, "ASKED", "## Summary")


def test_a_huge_template_is_cut():
    assert len(fill_template("## Other\n" + "x" * 10 * TEMPLATE_LIMIT, PARTS)) < TEMPLATE_LIMIT + 1000


@pytest.mark.parametrize(
    ("name", "is_template"),
    [
        ("PULL_REQUEST_TEMPLATE.md", True),
        ("pull_request_template.txt", True),
        ("Pull_Request_Template", True),
        ("PULL_REQUEST_TEMPLATE.md.bak", False),
        ("x_pull_request_template.md", False),
    ],
)
def test_names_of_templates(name: str, is_template: bool):
    assert bool(TEMPLATE_NAME.fullmatch(name)) is is_template
