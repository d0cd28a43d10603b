"""Somebody who sends nothing is told of: once after a while, then seldom."""

import threading

from bot.contracts.idle import IdleReporter


def test_a_silence_is_told_of_once_and_then_seldom():
    told: list[str] = []
    heard = threading.Event()

    def say(line: str) -> None:
        told.append(line)
        heard.set()

    with IdleReporter("GitHub", say, first=0.05, again=600).waiting():
        assert heard.wait(30)
    assert told == ["GitHub has sent nothing for 0 s; still waiting"]


def test_our_own_pause_is_no_silence_of_the_peer():
    told: list[str] = []
    over = threading.Event()
    silence = IdleReporter("the provider", told.append, first=0.3)
    with silence.waiting():
        silence.reset(pause=600)
        over.wait(0.6)
    assert told == []
