"""The page in a real browser: what people do with it, and that nothing of a journal can do anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bot.report.page import render_page
from tests.support.browser import axe_violations, chromium
from tests.support.hostile_journal import hostile_journal
from tests.support.report_runs import sample

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page
else:
    pytest.importorskip(
        "playwright"
    )  # what it has to offer takes a second to load: only where a page is opened

pytestmark = [pytest.mark.chromium, pytest.mark.node]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    page = folder / "report.html"
    page.write_text(render_page(sample(folder / "journal.jsonl")), encoding="utf-8")
    return page.as_uri()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of a journal with a script in every field."""
    folder = tmp_path_factory.mktemp("hostile")
    page = folder / "report.html"
    page.write_text(render_page(hostile_journal(folder / "journal.jsonl")), encoding="utf-8")
    return page.as_uri()


def expect(actual: Any) -> Any:
    from playwright.sync_api import expect

    expect.set_options(timeout=30_000)
    return expect(actual)


class Watched:
    """What a page asked for, and what went wrong in it."""

    def __init__(self, page: Page) -> None:
        self.requests: list[str] = []
        self.trouble: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.trouble.append(str(error)))
        page.on("console", lambda message: self.trouble.append(message.text))
        page.on("dialog", lambda dialog: (self.trouble.append(dialog.message), dialog.dismiss()))


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1200, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(30_000)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, address: str) -> Iterator[Page]:
    page = context.new_page()
    watched = Watched(page)
    page.goto(address)
    yield page
    page.evaluate("() => localStorage.clear()")
    page.close()
    assert watched.trouble == []
    assert {url.partition("#")[0] for url in watched.requests if not url.startswith("data:")} == {address}


def shown(page: Page) -> list[str]:
    """The steps that can be seen, by their anchors."""
    found: list[str] = page.evaluate(
        "() => [...document.querySelectorAll('.step')].filter(step => step.checkVisibility()).map(step => step.id)"
    )
    return found


def focused(page: Page) -> str:
    """The step that has the focus."""
    found: str = page.evaluate("() => document.activeElement.closest('.step')?.id ?? ''")
    return found


def test_the_search_finds_what_is_folded_away_and_shows_only_that(page: Page):
    page.keyboard.press("/")
    page.keyboard.type("no such text in it")
    expect(page.locator("#found")).to_contain_text("1 match")
    assert shown(page) == ["turn-3", "turn-3-call-3"]
    page.keyboard.press("Enter")
    expect(page.locator("#turn-3-call-3 .output")).to_be_visible()
    assert focused(page) == "turn-3-call-3"
    page.keyboard.press("Escape")
    assert len(shown(page)) > 12


def test_n_and_p_go_from_match_to_match_and_open_what_they_reach(page: Page):
    page.locator("#query").fill("unittest")
    page.locator("#query").press("Enter")
    expect(page.locator("#found")).to_contain_text(re.compile(r"^Match 1 of \d+"))
    count = int(page.locator("#found").inner_text().rpartition(" ")[2])
    seen = []
    for _ in range(count - 1):
        page.keyboard.press("n")
        seen.append(focused(page))
    assert [one for one in seen if one] == ["turn-1-call-1", "turn-4-call-2"]
    expect(page.locator("#turn-4-call-2 .output")).to_be_visible()
    page.keyboard.press("p")
    expect(page.locator("#found")).to_have_text(f"Match {count - 1} of {count}")


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("Errors", "turn-3 turn-3-call-3"),
        ("Denied", "turn-2 turn-2-call-2"),
        ("Edits", "turn-2 turn-2-call-1 turn-3 turn-3-call-1 turn-4 turn-4-call-1 turn-4-call-2"),
    ],
)
def test_a_filter_shows_only_its_steps(page: Page, name: str, steps: str):
    button = page.get_by_role("button", name=name)
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    assert shown(page) == steps.split()
    button.click()
    assert len(shown(page)) > 12


def test_the_steps_are_walked_and_opened_by_keys_and_the_focus_is_seen(page: Page):
    walked = []
    for _ in range(4):
        page.keyboard.press("j")
        walked.append(focused(page))
        outline = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"
    assert walked == ["message-1", "turn-1", "turn-1-call-1", "turn-1-call-2"]
    page.keyboard.press("k")
    page.keyboard.press("o")
    expect(page.locator("#turn-1-call-1 > details")).to_have_attribute("open", "")
    page.keyboard.press("o")
    expect(page.locator("#turn-1-call-1 > details")).not_to_have_attribute("open", "")


def test_all_of_it_is_reached_by_tab_and_the_first_stop_leads_past_the_top(page: Page):
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.textContent") == "Skip to the timeline"
    stops = set()
    for _ in range(24):
        page.keyboard.press("Tab")
        stops.add(page.evaluate("() => document.activeElement.id || document.activeElement.tagName"))
    assert {"theme", "help-button", "query", "sides", "open-all", "SUMMARY"} <= stops


def test_the_theme_follows_the_system_until_somebody_chooses(page: Page):
    def paper() -> str:
        return str(page.evaluate("() => getComputedStyle(document.body).backgroundColor"))

    page.emulate_media(color_scheme="light")
    assert paper() == "rgb(255, 255, 255)"
    page.emulate_media(color_scheme="dark")
    assert paper() == "rgb(14, 17, 22)"
    page.locator("#theme").click()
    assert paper() == "rgb(255, 255, 255)"
    page.reload()
    expect(page.locator("#theme")).to_have_text("Theme: light")
    page.keyboard.press("t")
    assert paper() == "rgb(14, 17, 22)"


def test_a_link_leads_to_its_step_and_opens_it(page: Page, address: str):
    page.goto(f"{address}#turn-3-call-2")
    expect(page.locator("#turn-3-call-2 .agent")).to_be_visible()
    assert focused(page) == "turn-3-call-2"
    page.goto(f"{address}#explore-1-turn-1-call-1")
    expect(page.locator("#explore-1-turn-1-call-1 .output")).to_be_visible()
    expect(page.locator("#explore-1-turn-1-call-1")).to_be_in_viewport()
    page.get_by_role("button", name="Denied").click()
    page.evaluate("() => { location.hash = '#turn-1-call-2' }")
    expect(page.locator("#turn-1-call-2 .output")).to_be_visible()
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("k")
    assert focused(page) == "turn-1-call-1"


def test_links_and_commands_can_be_copied(page: Page, context: BrowserContext, address: str):
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#turn-1-call-1 > a.permalink").click()
    expect(page.locator("#status")).to_have_text("The link is copied.")
    assert page.evaluate("() => navigator.clipboard.readText()") == f"{address}#turn-1-call-1"
    page.locator("#files .file summary").first.click()
    page.locator(".copy").first.click()
    expect(page.locator("#status")).to_have_text("The command is copied.")
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert copied == "slash-agent restore journal.jsonl --path tidytime/format.py --version 0"


def test_a_diff_stands_in_two_columns_and_in_one_again(page: Page):
    page.locator("#turn-2-call-1 summary").first.click()
    diff = page.locator("#turn-2-call-1-diff-1")
    rows = "rows => rows.map(row => row.outerHTML)"
    before = diff.locator(".row").evaluate_all(rows)
    page.keyboard.press("d")
    expect(page.locator("#sides")).to_have_attribute("aria-pressed", "true")
    old, new = diff.locator(".row.del.left"), diff.locator(".row.add.right")
    assert (old.get_attribute("data-old"), new.get_attribute("data-new")) == ("8", "8")
    boxes = old.bounding_box(), new.bounding_box()
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] < boxes[1]["x"]
    page.locator("#turn-3-call-1 summary").first.click()
    expect(page.locator("#turn-3-call-1-diff-1 .sides")).to_have_count(1)
    page.keyboard.press("d")
    assert diff.locator(".row").evaluate_all(rows) == before


def test_the_history_of_a_file_shows_each_version_with_its_diff(page: Page):
    page.locator("#files .file summary").first.click()
    versions = page.locator("#files .file").first.locator(".versions > li")
    assert versions.count() == 3
    button = versions.nth(1).get_by_role("button", name="Show diff")
    button.click()
    expect(versions.nth(1).locator(".diff .row.add")).to_contain_text("rounded(abs(seconds))")
    page.keyboard.press("d")
    expect(versions.nth(1).locator(".sides .row.add")).to_contain_text("rounded(abs(seconds))")
    versions.nth(1).get_by_role("button", name="Hide diff").click()
    expect(versions.nth(1).locator(".diff")).to_have_count(0)
    versions.nth(1).get_by_role("link", name="turn 2").click()
    expect(page.locator("#turn-2-call-1-diff-1")).to_be_visible()


@pytest.mark.parametrize("width", [320, 390])
def test_a_phone_shows_all_in_its_width(browser: Browser, address: str, hostile: str, width: int):
    for shown_there in (address, hostile):
        page = browser.new_page(viewport={"width": width, "height": 740}, is_mobile=True)
        page.goto(shown_there)
        page.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true })")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        # Our own words beside a figure are whole, however narrow the column.
        wraps = "all => all.map(one => getComputedStyle(one).overflowWrap)"
        assert set(page.locator("td > .soft, td > b").evaluate_all(wraps)) == {"normal"}
        page.close()


def test_without_scripts_all_of_it_can_be_read(browser: Browser, address: str):
    page = browser.new_page(java_script_enabled=False)
    page.goto(address)
    expect(page.locator(".toolbar")).to_be_hidden()
    page.locator("#turn-2-call-1 summary").first.click()
    expect(page.locator("#turn-2-call-1-diff-1")).to_be_visible()
    page.close()


def test_axe_finds_nothing_serious_in_either_theme(page: Page):
    page.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true })")
    page.keyboard.press("d")
    page.emulate_media(color_scheme="light")
    assert axe_violations(page) == []
    page.emulate_media(color_scheme="dark")
    assert axe_violations(page, "color-contrast") == []
    page.keyboard.press("?")
    assert axe_violations(page, below="#help") == []
    page.evaluate("() => { document.querySelector('#help-close').textContent = '' }")
    assert axe_violations(page, below="#help") == ["button-name: #help-close"], (
        "it must be able to find something"
    )


def test_a_script_in_every_field_runs_nowhere(context: BrowserContext, hostile: str):
    page = context.new_page()
    watched = Watched(page)
    page.goto(hostile)
    page.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true })")
    page.keyboard.press("d")
    for button in page.locator(".show-diff").all():
        button.click()
    page.locator("#query").fill("window.owned")
    expect(page.locator("#found")).to_contain_text("matches")
    page.keyboard.press("Enter")
    for _ in range(5):
        page.keyboard.press("n")
    assert page.evaluate("() => typeof window.owned") == "undefined"
    assert page.title().startswith("Slash Agent: ")
    assert watched.trouble == []
    assert [url for url in watched.requests if not url.startswith("data:")] == [hostile]


def test_a_script_that_got_in_would_not_run(context: BrowserContext, address: str, tmp_path: Path):
    """The content policy, by itself: what the templates let through by mistake one day."""
    whole = Path(address.removeprefix("file://")).read_text(encoding="utf-8")
    file = tmp_path / "report.html"
    attack = '<script>window.owned=1</script><img src="http://127.0.0.1:9/x" onerror="window.owned=1">'
    file.write_text(whole.replace("<main>", f"<main>{attack}"), encoding="utf-8")
    page = context.new_page()
    page.goto(file.as_uri())
    expect(page.locator(".toolbar")).to_be_visible()
    assert page.evaluate("() => typeof window.owned") == "undefined"
