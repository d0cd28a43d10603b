"""One language server's way through a run, in order and on a thread of its own: probed, started, shown the text before
a change and asked about it, then shown the change. Whoever waits for that waits elsewhere, as long as they like."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from bot.contracts.problems import Answer, Problem
from bot.workshop.host.lsp.cargo import Cargo
from bot.workshop.host.lsp.registry import Known
from bot.workshop.host.lsp.servers import Answered, Server

_PATIENCE = 15.0
"""Seconds for an answer that nobody waits for any more."""

_PAUSE = 0.05


@dataclass(slots=True)
class Watched:
    """A file: its text before the agent's first change and now, `None` where it is not there; by tool what was found in
    the text before."""

    name: str
    before: str | None
    now: str | None
    base: dict[str, tuple[Problem, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class Look:
    """What a server is asked after a change: about the files that changed, and `others`, which use them. `texts` are
    those that the answers are of; `wait` is how long before `until` it was asked. `over` when nothing more comes."""

    files: tuple[Watched, ...]
    others: tuple[Watched, ...]
    wait: float
    until: float
    texts: dict[str, str | None]
    answers: dict[str, Answered] = field(default_factory=dict)
    over: bool = False

    def still(self) -> bool:
        """Whether the files are as they were when it was asked."""
        return all(self.texts[file.name] == file.now for file in self.files)


class Lane:
    """`begin` probes and starts the server, or says why there is none; `tell` is called whenever there is news."""

    def __init__(
        self, known: Known, begin: Callable[[], Server | Cargo | str], tell: Callable[[], None]
    ) -> None:
        self.known = known
        self.server: Server | Cargo | None = None
        self.missing = ""
        self.warming: set[str] = set()
        self._begin = begin
        self._tell = tell
        self._open: set[str] = set()
        self._gone: set[str] = set()
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        threading.Thread(target=self._work, name=f"lane of {known.name}", daemon=True).start()

    @property
    def name(self) -> str:
        return self.known.name

    @property
    def why_off(self) -> str:
        """Why nothing comes of it any more; empty while something may."""
        return self.missing or (self.server.off if self.server else "")

    @property
    def loading(self) -> bool:
        """Whether it is still probed or started, or reads the project."""
        return not self.missing if self.server is None else self.server.loading

    def leaves_out(self, name: str) -> bool:
        """Whether it took too long over this file, and is not asked about it any more."""
        return isinstance(self.server, Server) and name in self.server.left_out

    def warm(self, file: Watched) -> None:
        """Have what is in the text before found while nobody waits for it."""
        self.warming.add(file.name)
        self._jobs.put(lambda: self._warm_one(file))

    def look(self, look: Look) -> None:
        self._jobs.put(lambda: self._look(look))

    def settings_changed(self, touched: Mapping[str, str]) -> None:
        """Files that are not of its language, but may say what counts in those that are."""

        def tell() -> None:
            if self.server is not None:
                self.server.touched(touched)

        self._jobs.put(tell)

    def end(self) -> None:
        self._jobs.put(None)

    def knows(self, file: Watched) -> bool:
        """Whether it has the file open, and what was in it before."""
        return file.name in self._open and self.name in file.base

    def _work(self) -> None:
        begun = self._begin()
        if isinstance(begun, str):
            self.missing = begun
        else:
            self.server = begun
        self._tell()
        while (job := self._jobs.get()) is not None:
            job()
            self._tell()

    def _warm_one(self, file: Watched) -> None:
        try:
            self._warm([file], _PATIENCE)
        finally:
            self.warming.discard(file.name)

    def _warm(self, files: Iterable[Watched], seconds: float) -> None:
        """Only what was never shown to it in another state is asked about."""
        fresh = [file for file in files if self.name not in file.base]
        for file in fresh:
            if file.before is None:
                file.base[self.name] = ()
        asked = [file for file in fresh if file.before is not None]
        if self.server is None or not asked:
            return
        for file in asked:
            # Where it was too slow for that before, it has the text of a change by now.
            self.server.open(file.name, file.before or "", self.known.language(file.name))
            self._open.add(file.name)
        answers = self.server.diagnostics([file.name for file in asked], seconds)
        for file in asked:
            if (answered := answers[file.name]).answer is Answer.COMPLETE:
                file.base[self.name] = answered.items

    def _look(self, look: Look) -> None:
        server = self.server
        if server is None:
            look.answers = dict.fromkeys(look.texts, Answered(Answer.UNAVAILABLE, note=self.missing))
            look.over = True
            return
        # As long as it takes: shown the change before it was asked about the text before, it could not be any more.
        self._warm(look.files, _PATIENCE)
        self._show(server, look)
        asked = [file.name for file in look.files if look.texts[file.name] is not None]
        asked += [file.name for file in look.others if self.knows(file)]
        if asked and not look.still():  # a later look asks about them, and this one's time is over
            look.answers |= dict.fromkeys(asked, Answered(Answer.TIMED_OUT))
            look.over = True
            return
        left = look.until - time.monotonic()
        if asked:  # where most of its time went by before, it is none of the server's that it has too little
            look.answers |= server.diagnostics(asked, left if left > look.wait / 2 else 0.0)
        self._tell()
        self._wait_on(server, look)
        look.over = True

    def _show(self, server: Server | Cargo, look: Look) -> None:
        touched: dict[str, str] = {}
        for file in look.files:
            text, name = look.texts[file.name], file.name
            if text is None:
                server.close_file(name)
                self._open.discard(name)
                self._gone.add(name)
                touched[name] = "deleted"
                continue
            is_new = name in self._gone or (file.before is None and name not in self._open)
            touched[name] = "created" if is_new else "changed"
            self._gone.discard(name)
            if name in self._open:
                server.change(name, text)
                server.saved(name)
            else:
                server.open(name, text, self.known.language(name))
                self._open.add(name)
        server.touched(touched)

    def _wait_on(self, server: Server | Cargo, look: Look) -> None:
        """For what is late, until there is something else to do."""
        until = time.monotonic() + _PATIENCE
        while self._late(look) and not server.off and self._jobs.empty():
            if time.monotonic() > until and not server.loading:
                return
            time.sleep(_PAUSE)
            for name, answered in server.late().items():
                if name in look.answers:
                    look.answers[name] = answered

    def _late(self, look: Look) -> bool:
        return any(answered.answer is Answer.TIMED_OUT for answered in look.answers.values())
