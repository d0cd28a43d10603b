"""`/agent stop`: cancel the runs of the thread."""

from bot.verbs.record import THREADS, Answer, Verb

VERB = Verb(
    name="stop",
    example="stop",
    help="cancels the run for this thread; its work so far is kept",
    order=80,
    places=THREADS,
    options=(),
    answer=Answer.CANCELLATION,
    on_closed=True,
)
