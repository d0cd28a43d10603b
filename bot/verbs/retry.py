"""`/agent retry`: do the last request of the thread again."""

from bot.contracts.outcome import Status
from bot.verbs.fix import PROMPT
from bot.verbs.record import ASK_USER, CHANGE_OPTIONS, THREADS, Earlier, Verb, changing

VERB = Verb(
    name="retry",
    example="retry",
    help="does the last request of this thread again",
    order=70,
    places=THREADS,
    options=CHANGE_OPTIONS,
    profile=changing(PROMPT, ASK_USER),
    publishes=frozenset({Status.CHANGED, Status.REVIEWED, Status.PLANNED}),
    earlier=Earlier.REQUEST,
    reads_failures=True,
)
