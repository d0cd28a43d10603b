"""The convention for titles: read from the base, told to the model, and every published title follows it."""

import json
from collections.abc import Iterator, Mapping

import pytest

from bot.parsing.parser import Parser
from bot.publish.body.order_and_footer import PARTS as NAMES
from bot.publish.body.repository_template import TEMPLATE_LIMIT, fill_template
from bot.publish.convention.form import Convention, mended, of_json
from bot.publish.convention.from_files import read_text
from bot.publish.convention.from_history import observed
from bot.publish.convention.read import Conventions
from bot.publish.remote import TEMPLATE_NAME
from tests.publish.conftest import REPO, World, open_world

SEMANTIC = "amannn/action-semantic-pull-request"


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    with Parser(seconds=60) as one:
        yield one


def read(parser: Parser, path: str, text: str) -> tuple[list[Convention], list[str]]:
    conventions, problems = parser.parse(read_text, json.dumps({path: text}))
    return [of_json(one) for one in conventions], problems


def workflow(**given: str) -> str:
    step = {"uses": f"{SEMANTIC}@v6", "with": given}
    return json.dumps({"on": "pull_request_target", "jobs": {"title": {"steps": [{"run": "true"}, step]}}})


PROGRAM = """\
const c: UserConfig = {
    rules: {
        'type-enum': [RuleConfigSeverity.Error, 'always', ['fixed', 'added']],
        // 'scope-empty': [2, 'always'],
        "scope-enum": [2, 'always', ['api', 'ui']],
        'scope-empty': [2, 'never'],
    },
};
export default c;
"""
COMPUTED = """\
const areas = {a: 1};
module.exports = {
  extends: ['@commitlint/config-conventional'],
  rules: { 'scope-enum': [2, 'always', Object.keys(areas)], 'header-max-length': [2, 'always', 72] }, // both
};
"""
CONVENTIONAL = "module.exports = {extends: ['@commitlint/config-conventional']}"
JSON = '{"extends": ["@commitlint/config-conventional"], "rules": %s}'
WORKFLOW = ".github/workflows/title.yml"
TICKET = r"^(\w+)\(([A-Z]+-\d+)\) (.+)$"
# Path, text, a title, and what it becomes.
SOURCES = [
    ("commitlint.config.js", CONVENTIONAL, "Round totals once.", "fix: round totals once"),
    ("commitlint.config.js", CONVENTIONAL, "fix(totals): round once", "fix(totals): round once"),
    ("commitlint.config.ts", PROGRAM, "Round totals once", "fixed(api): Round totals once"),
    ("commitlint.config.cjs", COMPUTED, "Round totals once", "fix: round totals once"),
    (".github/semantic.yml", "titleOnly: true\ntypes: [fix, docs]\nscopes: [a.b]\n", "feat(x): y", "fix: y"),
    (".commitlintrc", "extends: ['@commitlint/config-angular']", "README: say more", "fix(readme): say more"),
    (".commitlintrc.yml", "rules: {subject-case: [2, always, sentence-case]}", "add days", "feat: Add days"),
    (".commitlintrc.json", JSON % '{"scope-empty": [2, "always"]}', "fix(api): round", "fix: round"),
    (".commitlintrc.json", JSON % '{"scope-enum": [2, "always", ["api"]]}', "fix(x): round", "fix: round"),
    (".commitlintrc.json", JSON % '{"subject-case": [0]}', "fix: Round", "fix: Round"),
    (".commitlintrc.json", JSON % '{"header-max-length": [2, "always", 14]}', "Round totals", "fix: round"),
    ("package.json", '{"commitlint": {"extends": ["x"]}}', "Round totals", "fix: round totals"),
    (WORKFLOW, workflow(), "Round totals once", "fix: Round totals once"),
    (WORKFLOW, workflow(types="bug\nfeat\n"), "fix: round", "bug: round"),
    (WORKFLOW, workflow(types="chore\nfeat\n"), "Bugfix: round", "chore: round"),
    (WORKFLOW, workflow(requireScope="true"), "Round totals once", "fix(invoice): Round totals once"),
    (WORKFLOW, workflow(scopes="core\nJIRA-\\d+", requireScope="true"), "fix(x): round", "fix(core): round"),
    (WORKFLOW, workflow(scopes="core\nJIRA-\\d+"), "fix(JIRA-12): round", "fix(JIRA-12): round"),
    (WORKFLOW, workflow(subjectPattern="^(?![A-Z]).+$"), "fix: Round totals", "fix: round totals"),
    (WORKFLOW, workflow(subjectPattern="^[A-Z].+$"), "fix!: round totals", "fix!: Round totals"),
    (WORKFLOW, workflow(headerPattern=TICKET), "fix(BIL-7) Round totals", "fix(BIL-7) Round totals"),
    (WORKFLOW, workflow(headerPattern=r"^(\w+)(?:\((.*)\))?!?: (.*)$"), "Round totals", "fix: Round totals"),
    (
        WORKFLOW,
        workflow(headerPattern=r"^(.+) \[(\w+)\]$", headerPatternCorrespondence="subject, type"),
        "Round totals [fix]",
        "Round totals [fix]",
    ),
]


@pytest.mark.parametrize(("path", "text", "title", "published"), SOURCES)
def test_a_refused_title_is_mended(parser: Parser, path: str, text: str, title: str, published: str):
    conventions, problems = read(parser, path, text)
    assert problems == []
    assert mended(conventions, title, ["invoice.py"]) == published
    assert all(one.accepts(published) for one in conventions)


def test_a_title_in_the_form_of_a_header_pattern_is_the_models_to_write(parser: Parser):
    conventions, _ = read(parser, WORKFLOW, workflow(headerPattern=TICKET))
    assert (
        f"the title matches the regular expression `{TICKET}`" in Conventions(tuple(conventions)).for_model()
    )
    # No ticket is made up: the draft has a note then.
    assert mended(conventions, "Round totals", ["invoice.py"]) == ""


def test_types_follow_the_files_and_the_first_word():
    usual = [Convention("x")]
    assert mended(usual, "Say how to install it", ["docs/install.md", "README.md"]).startswith("docs: ")
    assert mended(usual, "Cover empty lines", ["tests/test_parser.py"]).startswith("test: ")
    assert mended(usual, "Run on pushes", [".github/workflows/ci.yml"]).startswith("ci: ")
    assert mended(usual, "Add days", ["a.py"]) == "feat: Add days"
    assert mended(usual, "Maintenance: update pins", ["a.lock"]) == "chore: update pins"


def test_a_title_follows_all_sources_together_or_there_is_none():
    both = [Convention("x", types=("fix", "feat")), Convention("y", types=("feat", "docs"), longest=20)]
    assert mended(both, "fix: something that is long", []) == "feat: something that"
    assert mended([Convention("x", types=("a",)), Convention("y", types=("b",))], "t", []) == ""


@pytest.mark.parametrize(
    ("path", "text", "reason"),
    [
        ("commitlint.config.js", "not a configuration", "exports no object"),
        ("commitlint.config.js", "module.exports = {rules: {", "a brace is not closed"),
        (".github/semantic.yml", "- a", "no mapping"),
        (".commitlintrc.json", "{", "Expecting property name"),
        (".commitlintrc.yml", "a: [", "did not find expected"),
        (".commitlintrc", "- a", "no mapping"),
        (WORKFLOW, "jobs: [\n# action-semantic-pull-request", "did not find expected"),
        (WORKFLOW, workflow(subjectPattern="(?<n>a)["), "unknown extension"),
        (WORKFLOW, workflow(scopes="(a"), "missing )"),
        (WORKFLOW, workflow(headerPattern="(?<type>x)"), "unknown extension"),
    ],
)
def test_an_unreadable_source_is_a_sentence(parser: Parser, path: str, text: str, reason: str):
    conventions, (problem,) = read(parser, path, text)
    assert conventions == []
    assert f"in {path} is not read: " in problem
    assert reason in problem


def _subjects(conventional: int, other: int, form: str = "fix(parser): take line {}") -> list[str]:
    return [form.format(n) for n in range(conventional)] + [f"Take line {n}" for n in range(other)]


@pytest.mark.parametrize(
    ("subjects", "told"),
    [
        (_subjects(18, 2), "scope is required"),
        (_subjects(17, 3), ""),
        (_subjects(18, 2, "feat: Take line {}"), "the scope may be left out"),
        (_subjects(20, 50), "scope is required"),
        (_subjects(9, 0), ""),
        (_subjects(0, 20), ""),
        ([f"parser: take line {n}" for n in range(20)], ""),  # an area, no type
    ],
)
def test_the_newest_subjects_show_a_convention(subjects: list[str], told: str):
    seen = observed(subjects)
    assert told in Conventions((seen,) if seen else ()).for_model()
    assert bool(told) == bool(seen)


@pytest.mark.slow
def test_a139_a_pattern_of_the_repository_does_not_hold_publishing_up(tmp_path: object):
    """The base's own pattern may take for ever: it is applied in a child with a limit, and the draft says so."""
    text = workflow(subjectPattern="^([a-z ]+)+$")
    files = {WORKFLOW: text}
    with open_world(tmp_path) as world:  # type: ignore[arg-type]
        world.base_sha = world.forge.commit(REPO, files)
        published = world.publish(described(world, "fix: " + "round totals once " * 3 + "!"))
        (pull,) = world.pulls()
    assert published.created
    assert "Edit it before merging" in pull["body"]


def described(world: World, title: str, changes: Mapping[str, str] | None = None):  # type: ignore[no-untyped-def]
    description = world.outcome().description
    return world.bundle(changes, description=type(description)(title, description.summary, description.notes))


def test_title_and_subject_are_published_as_the_base_wants_them(world: World):
    base = {"commitlint.config.js": CONVENTIONAL, ".commitlintrc.yml": "- broken"}
    world.base_sha = world.forge.commit(REPO, base)
    bundle = described(world, "Round totals once.")
    published = world.publish(bundle)
    (pull,) = world.pulls()
    subject = world.commit(published.commit).partition("\n\n")[2].splitlines()[0]
    assert (pull["title"], subject) == ("fix: round totals once", "fix: round totals once")
    assert ".commitlintrc.yml is not read" in pull["body"]
    assert all(len(line) <= 100 for line in world.commit(published.commit).partition("\n\n")[2].splitlines())
    # Published again, nothing changes.
    before = world.writes()
    assert world.publish(bundle).commit == published.commit
    assert world.writes() == before


def test_a140_a_convention_in_the_change_itself_does_not_count(world: World):
    """The model could otherwise choose what its own title may be."""
    changes = {"commitlint.config.js": CONVENTIONAL}
    world.publish(described(world, "Round totals once", changes))
    assert world.pulls()[0]["title"] == "Round totals once"


# Templates


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
