// What the page does beyond standing there: search, filters, keys, two columns, links. It finds what it needs in the
// page itself and makes elements one by one: nothing here turns text into markup.
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const made = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const toolbar = document.querySelector(".toolbar");
  const query = byId("query");
  const found = byId("found");
  toolbar.hidden = false;
  byId("page-buttons").hidden = false;

  let told;
  function tell(words) {
    byId("status").textContent = words;
    clearTimeout(told);
    told = setTimeout(() => (byId("status").textContent = ""), 2500);
  }

  // Theme

  const themes = ["auto", "light", "dark"];
  const kept = {
    get() { try { return localStorage.getItem("slash-agent-theme"); } catch { return null; } },
    set(value) { try { localStorage.setItem("slash-agent-theme", value); } catch { /* a page without storage */ } },
  };
  function useTheme(theme) {
    if (theme === "auto") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.dataset.theme = theme;
    byId("theme").querySelector("b").textContent = theme;
    kept.set(theme);
  }
  function nextTheme() {
    const now = document.documentElement.dataset.theme || "auto";
    useTheme(themes[(themes.indexOf(now) + 1) % themes.length]);
  }
  byId("theme").addEventListener("click", nextTheme);
  useTheme(themes.includes(kept.get()) ? kept.get() : "auto");

  // Diffs in two columns, made from the rows of the one

  let twoColumns = false;
  const original = new WeakMap();

  function sideRow(row, side) {
    if (!row) return made("div", `row blank ${side}`);
    const copy = row.cloneNode(true);
    copy.classList.add(side);
    delete copy.dataset[side === "left" ? "new" : "old"];
    return copy;
  }
  function split(rows) {
    const grid = made("div", "sides");
    let removed = [], added = [];
    const flush = () => {
      for (let at = 0; at < Math.max(removed.length, added.length); at++) {
        grid.append(sideRow(removed[at], "left"), sideRow(added[at], "right"));
      }
      removed = []; added = [];
    };
    for (const row of rows) {
      if (row.classList.contains("del")) { if (added.length) flush(); removed.push(row); continue; }
      if (row.classList.contains("add")) { added.push(row); continue; }
      flush();
      if (row.classList.contains("same")) grid.append(sideRow(row, "left"), sideRow(row, "right"));
      else { const wide = row.cloneNode(true); wide.classList.add("wide"); grid.append(wide); }
    }
    flush();
    return grid;
  }
  function layOut(diff) {
    if (twoColumns === original.has(diff)) return;
    if (twoColumns) {
      const rows = all(":scope > .row", diff);
      const grid = split(rows);
      original.set(diff, rows);
      rows.forEach((row) => row.remove());
      diff.prepend(grid);
    } else {
      diff.querySelector(":scope > .sides").remove();
      diff.prepend(...original.get(diff));
      original.delete(diff);
    }
  }
  const layOutIn = (root) => all(".diff", root).filter((diff) => !diff.closest("details:not([open])")).forEach(layOut);
  function toggleSides() {
    twoColumns = !twoColumns;
    byId("sides").setAttribute("aria-pressed", twoColumns);
    layOutIn(document);
  }
  byId("sides").addEventListener("click", toggleSides);
  document.addEventListener("toggle", (event) => { if (event.target.open) layOutIn(event.target); }, true);

  // Search and filters. A unit is what is searched as one; a step that has no match is hidden with what is in it.

  const units = all("[data-unit]");
  const steps = all(".step");
  let texts = null;
  let matches = [];
  let at = -1;
  let tags = new Set();

  function textOf(unit) {
    texts ??= new Map();
    if (!texts.has(unit)) texts.set(unit, unit.textContent.toLowerCase());
    return texts.get(unit);
  }
  function passes(unit, words) {
    const own = (unit.dataset.tags || "").split(" ");
    if (tags.size && !own.some((tag) => tags.has(tag))) return false;
    return !words || textOf(unit).includes(words);
  }
  function look() {
    const words = query.value.trim().toLowerCase();
    const on = Boolean(words || tags.size);
    const passing = on ? units.filter((unit) => passes(unit, words)) : [];
    const inner = new Set(passing);
    const shown = new Set();
    for (const unit of passing) {
      for (let step = unit.closest(".step"); step; step = step.parentElement.closest(".step")) shown.add(step);
      for (let outer = unit.parentElement.closest("[data-unit]"); outer; outer = outer.parentElement.closest("[data-unit]"))
        inner.delete(outer);
    }
    for (const step of steps) step.hidden = on && !shown.has(step);
    matches = [...inner];
    at = -1;
    found.textContent = !on ? "" : matches.length
      ? `${matches.length} ${matches.length === 1 ? "match" : "matches"}. n and p go from one to the next.`
      : "Nothing matches.";
    mark(words);
  }
  function mark(words) {
    if (!window.Highlight) return;
    const ranges = [];
    for (const unit of words ? matches : []) {
      if (ranges.length > 500) break;
      rangesIn(unit, words, ranges);
    }
    CSS.highlights.set("found", new Highlight(...ranges));
  }
  function rangesIn(unit, words, ranges) {
    const nodes = [];
    let whole = "";
    const walker = document.createTreeWalker(unit, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      nodes.push([whole.length, node]);
      whole += node.data;
    }
    const lower = whole.toLowerCase();
    if (lower.length !== whole.length) return;
    const place = (offset) => {
      let low = 0, high = nodes.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (nodes[middle][0] <= offset) low = middle; else high = middle - 1;
      }
      return [nodes[low][1], offset - nodes[low][0]];
    };
    for (let start = lower.indexOf(words); start >= 0 && ranges.length <= 500; start = lower.indexOf(words, start + words.length)) {
      const range = document.createRange();
      range.setStart(...place(start));
      const [node, offset] = place(start + words.length - 1);
      range.setEnd(node, offset + 1);
      ranges.push(range);
    }
  }
  function goTo(step) {
    if (!matches.length) return;
    at = (at + step + matches.length) % matches.length;
    const unit = matches[at];
    reveal(unit);
    found.textContent = `Match ${at + 1} of ${matches.length}`;
  }
  let typing;
  query.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(look, 120); });
  query.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    clearTimeout(typing);
    look();
    query.blur();
    goTo(1);
  });
  function setFilter(button, on) {
    button.setAttribute("aria-pressed", on);
    if (on) tags.add(button.dataset.tag); else tags.delete(button.dataset.tag);
    look();
  }
  for (const button of all(".filter")) {
    button.addEventListener("click", () => setFilter(button, button.getAttribute("aria-pressed") !== "true"));
  }
  function clear() {
    query.value = "";
    for (const button of all(".filter")) button.setAttribute("aria-pressed", false);
    tags = new Set();
    look();
  }

  // Steps: where the keyboard stands, what a link names

  const handle = (step) =>
    step.querySelector(step.classList.contains("turn") ? "a.permalink" : "summary") || step;
  const inTheOpen = (step) => !step.parentElement.closest("[hidden], details:not([open])") && !step.hidden;
  function stepsShown() {
    return steps.filter(inTheOpen);
  }
  let stood = null;
  function here() {
    const focused = document.activeElement && document.activeElement.closest(".step");
    return focused || stood;
  }
  function stand(step) {
    stood = step;
    for (const old of all(".reached")) old.classList.remove("reached");
    const to = handle(step);
    if (to === step) { step.tabIndex = -1; step.classList.add("reached"); }
    to.focus({ preventScroll: true });
    to.scrollIntoView({ block: "center" });
  }
  function move(by) {
    const shown = stepsShown();
    if (!shown.length) return;
    const now = here();
    let place = now ? shown.indexOf(now) : -1;
    if (place < 0 && by < 0) place = shown.length;
    stand(shown[Math.min(shown.length - 1, Math.max(0, place + by))]);
  }
  function toggleHere() {
    const step = here();
    const details = step && step.querySelector("details");
    if (details) details.open = !details.open;
  }
  function reveal(target) {
    if (target.closest("[hidden]")) clear();
    for (let outer = target.closest("details"); outer; outer = outer.parentElement.closest("details")) outer.open = true;
    const own = target.matches(".call, .said") ? target.querySelector(":scope > details") : target.matches(".own") ? null : target.querySelector("details");
    if (own && !target.matches("section")) own.open = true;
    const step = target.closest(".step");
    if (step) stand(step);
    else target.scrollIntoView({ block: "center" });
  }
  function followLink() {
    let id = "";
    try { id = decodeURIComponent(location.hash.slice(1)); } catch { return; }
    const target = id && byId(id);
    if (target && target.closest("#timeline") && target.id !== "timeline") {
      reveal(target);
      requestAnimationFrame(() => target.scrollIntoView({ block: "start" }));
    }
  }
  window.addEventListener("hashchange", followLink);
  // A browser that is still reading a long page goes to the link's target once more at the end, and the focus is lost.
  window.addEventListener("load", followLink);

  // Copying, and diffs of the file history

  async function copy(text, words) {
    try { await navigator.clipboard.writeText(text); tell(words); } catch { tell("This browser does not let the page copy."); }
  }
  function showDiff(button) {
    const open = button.getAttribute("aria-expanded") === "true";
    const row = button.closest("li");
    button.setAttribute("aria-expanded", !open);
    button.firstChild.data = open ? "Show diff" : "Hide diff";
    if (open) { row.querySelector(":scope > .diff").remove(); return; }
    const source = byId(button.dataset.diff);
    const copied = source.cloneNode(false);
    copied.removeAttribute("id");
    for (const part of original.get(source) || source.children) {
      if (!part.classList.contains("sides")) copied.append(part.cloneNode(true));
    }
    row.append(copied);
    layOut(copied);
  }
  document.addEventListener("click", (event) => {
    const copied = event.target.closest("[data-copy]");
    const diff = event.target.closest(".show-diff");
    const link = event.target.closest("a.permalink");
    const inside = event.target.closest('a[href^="#"]');
    if (copied) copy(copied.dataset.copy, "The command is copied.");
    else if (diff) showDiff(diff);
    else if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) copy(link.href, "The link is copied.");
    // The address stays as it is, so that nothing else tells of it; the step may have been folded or filtered since.
    if (inside && inside.hash === location.hash) followLink();
  });
  const openAll = byId("open-all");
  openAll.addEventListener("click", () => {
    const open = openAll.getAttribute("aria-pressed") !== "true";
    openAll.setAttribute("aria-pressed", open);
    for (const details of all("#timeline .call > details, #timeline .said > details, #timeline .thought")) details.open = open;
  });

  // Keys

  const help = byId("help");
  const showHelp = () => (help.open ? help.close() : help.showModal());
  byId("help-button").addEventListener("click", showHelp);
  byId("help-close").addEventListener("click", showHelp);
  const keys = {
    j: () => move(1), k: () => move(-1), o: toggleHere, n: () => goTo(1), p: () => goTo(-1), t: nextTheme, d: toggleSides,
    e: () => { const button = document.querySelector(".filter[data-tag=error]"); if (!button.disabled) button.click(); },
    "/": () => { query.focus(); query.select(); query.scrollIntoView({ block: "nearest" }); },
    "?": showHelp,
    Escape: () => { clear(); if (document.activeElement === query) query.blur(); },
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const inField = event.target.matches("input, textarea, select");
    if (inField && event.key !== "Escape") return;
    if (help.open && event.key !== "?") return;
    const act = Object.hasOwn(keys, event.key) && keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  followLink();
})();
