"""`/agent status`: show what is running, or how the last run ended."""

from bot.verbs.record import EVERYBODY, THREADS, Answer, Verb

VERB = Verb(
    name="status",
    example="status",
    help="shows what is running, or how the last run ended",
    order=90,
    places=THREADS,
    options=(),
    tiers=EVERYBODY,
    answer=Answer.RUNS,
    on_closed=True,
)
