"""What looks on while files are edited: which language servers and parsers, from what text on, and what is new in it.

Nothing is started before a file of its language is read or changed; nothing is waited for but after a change, and
then no longer than the limit. What comes later is told with a later result.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from zlib import crc32

from bot.contracts.problems import Answer, Problem, ServerUse
from bot.workshop.host.context import Context
from bot.workshop.host.lsp import parsers
from bot.workshop.host.lsp.baseline import Change, certain, compare, together
from bot.workshop.host.lsp.installed import Missing
from bot.workshop.host.lsp.lane import Lane, Look, Watched
from bot.workshop.host.lsp.lanes import Lanes
from bot.workshop.host.lsp.origins import Base, Origins
from bot.workshop.host.lsp.probe import Settings
from bot.workshop.host.lsp.registry import SERVERS, Known, is_shell, of_interest
from bot.workshop.host.lsp.servers import Answered, Hub
from bot.workshop.host.lsp.told import Report, fitting, shown

MOST_FILES = 20
"""That are looked at after one call."""

MOST_IMPORTERS = 10

_IMPORTING = re.compile(
    r"^[ \t]*(?:from|import|export|const|let|var|use|mod|pub|\}|#[ \t]*include)|\b(?:require|import)\b"
)
"""After this a line may name another file."""

_AS_A_WHOLE = r"""(?:/(?:index|mod)(?:\.\w+)?)?(?=['"\s;,]|$)"""
"""What follows where a folder is named, and no file in it."""

_SETTINGS = (".toml", ".json")
"""What such a file says may count in others: pyproject.toml, tsconfig.json."""

_RANK = (Answer.TIMED_OUT, Answer.COMPLETE, Answer.UNAVAILABLE)


@dataclass(slots=True)
class Session:
    """`before(name)` is a file's text before the agent's first change of it, by what the run keeps; `None` where it was
    not there. `now(name)` is its text now, `None` where it is gone or no text; `base` what the run began with."""

    context: Context
    settings: Settings
    before: Callable[[str], str | None]
    now: Callable[[str], str | None]
    base: Base = field(default_factory=Base)
    servers: Sequence[Known] = SERVERS
    hub: Hub = field(default_factory=Hub)
    _files: dict[str, Watched] = field(default_factory=dict)
    _refused: dict[str, str] = field(default_factory=dict)
    _said: set[str] = field(default_factory=set)
    _shown: Counter[Problem] = field(default_factory=Counter)
    _compared: set[tuple[str, str]] = field(default_factory=set)
    _late: list[tuple[Lane, Look]] = field(default_factory=list)
    _waited_for: set[Lane] = field(default_factory=set)
    _news: threading.Condition = field(default_factory=threading.Condition)
    _standing: dict[str, tuple[str, tuple[Problem, ...]]] = field(default_factory=dict)
    _origins: Origins = field(init=False)
    _lanes: Lanes = field(init=False)

    def __post_init__(self) -> None:
        self._said |= self.settings.said
        self._origins = Origins(self.context, self.settings.terms, self.base)
        self._lanes = Lanes(self.context, self.settings, self._origins, self.servers, self.hub, self._tell)

    def read(self, name: str, text: str) -> None:
        """The agent was shown this file, which it may change later. Returns at once."""
        if name in self._files or not (of_interest(name) or is_shell(name, text)):
            return
        file = self._files[name] = Watched(name, text, text)
        for lane in self._lanes.of(name):
            lane.warm(file)

    def settle(self, until: float) -> None:
        """Before a change: have the servers look at what was read as it still is, for what changes on disk changes
        what is found in others."""

        def busy() -> list[Lane]:
            lanes = (lane for lane in self._lanes if lane.warming and not lane.why_off)
            return [lane for lane in lanes if not self._is_known_to_load(lane)]

        with self._news:
            self._news.wait_for(lambda: not busy(), max(0.0, until - time.monotonic()))
        self._waited_for.update(lane for lane in busy() if lane.loading)

    def changed(self, names: Sequence[str], moved: Mapping[str, str], began: float) -> Report | None:
        """What is new in these files, and in those that use them; `None` where nothing of it is for anybody here.
        `moved` maps new names to old ones; `began` is when the wait did, by `time.monotonic`."""
        until = began + self.settings.wait
        files = [file for name in names if (file := self._taken(name, moved.get(name, ""))) is not None]
        left_out = files[MOST_FILES:]
        files = files[:MOST_FILES]
        if not files:
            return None
        self._tell_of_settings(files)
        looks = self._ask(files, until)
        looked = [*self._parsed(files, until)]
        self._wait(looks, until)
        for lane, look in looks:
            if look.over and not look.answers:
                continue  # its files are gone, and nobody uses them
            looked.append(self._judged(lane, look))
            if looked[-1][1] is Answer.TIMED_OUT:
                self._late.append((lane, look))
        loading = {lane for lane, look in looks if _is_unanswered(look) and lane.loading}
        self._waited_for = loading | {lane for lane in self._waited_for if lane.loading}
        unknown = {name for name, answer, _ in looked if answer is Answer.TIMED_OUT}
        late = [self._judged(lane, look) for lane, look in self._come(unknown)]
        looked += [one for one in late if one[1] is not Answer.TIMED_OUT]
        notes = (f"{len(left_out)} more changed files were not looked at.",) if left_out else ()
        names_of_loading = tuple(dict.fromkeys(lane.name for lane, _ in looks if lane in loading))
        return self._report(looked, files, began, notes=notes, loading=names_of_loading)

    def came_late(self) -> Report | None:
        """What was found in earlier changes since, where the files are still as they were."""
        done = self._come()
        looked = [self._judged(lane, look) for lane, look in done]
        looked = [one for one in looked if one[1] is not Answer.TIMED_OUT]
        files = [file for _, look in done for file in look.files]
        return self._report(looked, files, time.monotonic(), late=True) if looked else None

    def _come(self, unknown: Collection[str] = ()) -> list[tuple[Lane, Look]]:
        """What was late and is no longer, but for servers that are `unknown` about something else again."""
        done = [
            (lane, look)
            for lane, look in self._late
            if (look.over or lane.why_off) and lane.name not in unknown
        ]
        self._late = [one for one in self._late if one not in done]
        return done

    def standing(self) -> Iterator[tuple[str, str, tuple[Problem, ...]]]:
        """Of each file that was changed and answered for: its name, its text, and the new errors in it."""
        there = ((name, *one) for name, one in self._standing.items() if self._files[name].now == one[0])
        for name, text, new in there:
            yield name, text, together([Change(new)]).new

    def uses(self) -> tuple[ServerUse, ...]:
        refused = (ServerUse(name, "", note=f"not available: {why}") for name, why in self._refused.items())
        return (*self._lanes.uses(), *refused)

    def end(self) -> None:
        self._lanes.end()

    def _taken(self, name: str, old: str) -> Watched | None:
        """The file with its text as it is now; `None` where there is nothing to look at."""
        text = self.now(name)
        if not of_interest(name) and not is_shell(name, text or ""):
            return None
        file = self._files.get(name)
        if file is not None:
            if file.now == text:
                return None
            file.now = text
            return file
        if old:
            was = self._files.get(old)
            before = was.before if was else self.before(old)
            file = Watched(name, before, text, dict(was.base) if was else {})
        else:
            file = Watched(name, self.before(name), text)
        if file.before == text:
            return None
        self._files[name] = file
        return file

    def _tell(self) -> None:
        with self._news:
            self._news.notify_all()

    def _tell_of_settings(self, files: Sequence[Watched]) -> None:
        changed = [file for file in files if PurePosixPath(file.name).suffix in _SETTINGS]
        touched = {
            file.name: "deleted" if file.now is None else "created" if file.before is None else "changed"
            for file in changed
        }
        for lane in self._lanes:
            if touched:
                lane.settings_changed(touched)

    def _ask(self, files: Sequence[Watched], until: float) -> list[tuple[Lane, Look]]:
        """Every server about its files, at the same time."""
        own_of: dict[Lane, list[Watched]] = {}
        for file in files:
            for lane in self._lanes.of(file.name):
                own_of.setdefault(lane, []).append(file)
        looks = [(lane, self._look(lane, own, until)) for lane, own in own_of.items()]
        self._ask_again(own_of)
        return looks

    def _ask_again(self, own_of: Mapping[Lane, Sequence[Watched]]) -> None:
        """What is owed by servers that are asked about these files: it may be another answer by now. Nobody waits."""
        owed: dict[Lane, list[Watched]] = {}
        for lane, look in self._late:
            if lane in own_of:
                owed.setdefault(lane, []).extend(file for file in look.files if file not in own_of[lane])
        self._late = [(lane, look) for lane, look in self._late if lane not in own_of]
        now = time.monotonic()
        self._late += [(lane, self._look(lane, files, now)) for lane, files in owed.items() if files]

    def _look(self, lane: Lane, files: Sequence[Watched], until: float) -> Look:
        others = tuple(self._importers(lane, files))
        look = Look(tuple(files), others, self.settings.wait, until, {file.name: file.now for file in files})
        lane.look(look)
        return look

    def _importers(self, lane: Lane, changed: Sequence[Watched]) -> list[Watched]:
        """The open files that seem to use one of the changed ones, by whatever path or alias: those that name it, then
        those that name its folder, which may pass on what is in it."""
        stems = {stem for file in changed for stem in _stems(file.name)}
        folders = {PurePosixPath(file.name).parent.name for file in changed}
        uses = [
            re.compile(rf"\b(?:{'|'.join(map(re.escape, names))}){then}")
            for names, then in ((stems - {""}, r"\b"), (folders - {""}, _AS_A_WHOLE))
            if names
        ]
        rest = [
            file
            for file in self._files.values()
            if file not in changed and file.now is not None and lane.known.language(file.name)
        ]
        found = [file for named in uses for file in rest if _imports(file.now or "", named)]
        return list({file.name: file for file in found}.values())[:MOST_IMPORTERS]

    def _is_known_to_load(self, lane: Lane) -> bool:
        """It was waited for once, and is for the same reason not again."""
        return lane in self._waited_for and lane.loading

    def _wait(self, looks: Sequence[tuple[Lane, Look]], until: float) -> None:
        def answered() -> bool:
            return all(
                look.over or not _is_unanswered(look) or self._is_known_to_load(lane) for lane, look in looks
            )

        with self._news:
            self._news.wait_for(answered, max(0.0, until - time.monotonic()))

    def _parsed(self, files: Sequence[Watched], until: float) -> Iterator[tuple[str, Answer, Change]]:
        for parser in parsers.PARSERS:
            own = [file for file in files if file.now is not None and parser.takes(file.name, file.now)]
            if (
                not own
                or self.settings.servers.get(parser.name, {}).get("off")
                or self._is_there(parser.instead, own[0].name)
            ):
                continue
            run = self._found(parser, own[0].name)
            if isinstance(run, str):
                self._refused[parser.name] = run
                continue
            found = [self._parse(parser.name, run, file, until) for file in own]
            answers, changes = zip(*found, strict=True)
            yield parser.name, min(answers, key=_RANK.index), certain(together(changes))

    def _found(self, parser: parsers.Parser, name: str) -> parsers.Check | str:
        place = self._lanes.place(name)
        program = parser.program and place.anywhere(parser.program)
        why = self._origins.why_not(parser.name, (program,)) if program else ""
        return why or parser.find(place)

    def _parse(self, name: str, run: parsers.Check, file: Watched, until: float) -> tuple[Answer, Change]:
        assert file.now is not None
        if name not in file.base:
            old = Answered(Answer.COMPLETE)  # of a file that was not there
            if file.before is not None:
                old = parsers.asked(run, self.context, file.name, file.before, until)
            if old.answer is not Answer.COMPLETE:
                return old.answer, Change()
            file.base[name] = old.items
        after = parsers.asked(run, self.context, file.name, file.now, until)
        if after.answer is not Answer.COMPLETE:
            return after.answer, Change()
        return after.answer, self._stand(file, name, compare(file.base[name], after.items))

    def _is_there(self, names: Iterable[str], file: str) -> bool:
        """Whether one of those does the work for a file."""
        if any(lane.name in names and not lane.why_off for lane in self._lanes.of(file)):
            return True
        others = {parser.name for parser in parsers.PARSERS} & set(names) - set(self._refused)
        return any(not self.settings.servers.get(name, {}).get("off") for name in others)

    def _judged(self, lane: Lane, look: Look) -> tuple[str, Answer, Change]:
        """How a server answered, and what is new by it. Of files that it did not answer for nothing is."""
        if not look.answers and not look.over:
            return lane.name, Answer.TIMED_OUT, Change()
        answers = [answered.answer for answered in look.answers.values()]
        missing = Missing(lane.name, self.context, self._files.values())
        changes: list[Change] = []
        for file in (*look.files, *look.others):
            answered = look.answers.get(file.name)
            base = file.base.get(lane.name)
            if answered is not None and answered.answer is Answer.COMPLETE and base is not None:
                changes.append(self._stand(file, lane.name, compare(base, answered.items, missing)))
            elif answered is not None and answered.answer is Answer.COMPLETE:
                answers.append(Answer.TIMED_OUT)  # nobody knows what was there before
        answer = min(answers, key=_RANK.index, default=Answer.COMPLETE)
        return lane.name, answer, certain(together(changes)) if answer is Answer.COMPLETE else Change()

    def _stand(self, file: Watched, tool: str, change: Change) -> Change:
        """Note what is new in it, for the end of the run, and that this tool was compared."""
        self._compared.add((tool, file.name))
        if file.now is not None:
            text, known = self._standing.get(file.name, ("", ()))
            others = tuple(problem for problem in known if problem.tool != tool) if text == file.now else ()
            new = tuple(problem for problem in change.new if problem.severity == "error")
            self._standing[file.name] = file.now, (*others, *new)
        return change

    def _report(
        self,
        looked: Sequence[tuple[str, Answer, Change]],
        files: Sequence[Watched],
        began: float,
        *,
        late: bool = False,
        notes: tuple[str, ...] = (),
        loading: tuple[str, ...] = (),
    ) -> Report:
        names = tuple(dict.fromkeys(file.name for file in files))
        change = together((change for _, _, change in looked), names)
        answers: dict[str, Answer] = {}
        for name, answer, _ in looked:
            answers[name] = min(answers.get(name, answer), answer, key=_RANK.index)
        return Report(
            tuple(answers.items()),
            change,
            self._fresh(change.new),
            waited=0.0 if late else time.monotonic() - began,
            limit=self.settings.wait,
            late=late,
            files=names,
            said=tuple(self._to_say(names)),
            notes=notes,
            loading=loading,
            uses=self.uses(),
        )

    def _fresh(self, new: Sequence[Problem]) -> tuple[Problem, ...]:
        """Those that were not shown before. What was, and is gone from a file that was looked at, is news again."""
        now = Counter(map(_without_line, new))
        for key, times in list(self._shown.items()):
            if (key.tool, key.path) in self._compared:
                self._shown[key] = min(times, now[key])
        self._compared.clear()
        left = Counter(self._shown)
        fresh: list[Problem] = []
        for problem in new:
            if left[key := _without_line(problem)]:
                left[key] -= 1
            else:
                fresh.append(problem)
        self._shown.update(map(_without_line, fresh[: fitting(fresh)]))
        return tuple(fresh)

    def _to_say(self, names: Sequence[str]) -> Iterator[tuple[str, str]]:
        """What is missing for these files, or is gone: each once a run."""
        missing: dict[str, str] = {}
        off: dict[str, str] = {}
        slow: list[tuple[str, str]] = []
        for name in names:
            for known in self.servers:
                if known.language(name):
                    missing.setdefault(known.name, self._lanes.why_none(known, name))
                    off.setdefault(known.name, self._lanes.why_off(known, name))
                    slow += [(known.name, name)] if self._lanes.leaves_out(known, name) else []
            for parser in parsers.PARSERS:
                if parser.takes(name, self._files[name].now or ""):
                    missing.setdefault(parser.name, self._refused.get(parser.name, ""))
        for name in sorted(missing):
            if missing[name] and self._once(f"missing {name}"):
                yield f"missing {name}", f"{name} is not available: {missing[name]}"
            elif off.get(name) and self._once(f"off {name}"):
                yield f"off {name}", f"{name} is off for the rest of the run: {off[name]}"
        for name, path in slow:
            if not off.get(name) and self._once(
                key := f"slow {name} {crc32(path.encode('utf-8', 'surrogatepass')):08x}"
            ):
                yield key, f"{name} takes too long over {shown(path)}, and is not asked about it any more"

    def _once(self, key: str) -> bool:
        new = key not in self._said
        self._said.add(key)
        return new


def _is_unanswered(look: Look) -> bool:
    answers = look.answers.values()
    return not answers or any(answered.answer is Answer.TIMED_OUT for answered in answers)


def _without_line(problem: Problem) -> Problem:
    """The same wherever it stands in its file."""
    return replace(problem, line=0, column=0, end_line=0, end_column=0, snippet="")


def _imports(text: str, named: re.Pattern[str]) -> bool:
    """Line by line, in time that grows with the text alone: a bundle is a line of a megabyte."""
    for line in text.split("\n"):
        if (begin := _IMPORTING.search(line)) is not None and named.search(line, begin.end()):
            return True
    return False


def _stems(name: str) -> Iterator[str]:
    """The names by which others import a file."""
    path = PurePosixPath(name)
    if path.stem in ("__init__", "index", "mod"):
        yield path.parent.name
    else:
        yield path.stem
    if path.suffix == ".go":
        yield path.parent.name
