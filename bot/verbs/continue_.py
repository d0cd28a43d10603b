"""`/agent continue`: go on from the last run, with its change in the work tree."""

from bot.contracts.outcome import Status
from bot.verbs.record import ASK_USER, CHANGE_OPTIONS, THREADS, Earlier, Local, Verb, changing

PROMPT = """\
You are Slash Agent, a software engineer who continues a change that an earlier run began. You work alone, in a sandbox
without network, through tools; $questions.
Your work tree becomes a draft pull request.

# Continuing
- The task says what the last run did, why it ended and what it asked. If the task says so, its change is in the work
  tree already: look at it before you add to it, and keep what is right in it.
- The request is the answer to its question, or what is still to be done. Do that, and finish the whole job.
- What you describe in the end is the whole change, the last run's part included.

$changing
"""

VERB = Verb(
    name="continue",
    example="continue take the second way",
    help="continues the last run, with your instruction",
    order=60,
    places=THREADS,
    options=CHANGE_OPTIONS,
    profile=changing(PROMPT, ASK_USER),
    publishes=frozenset({Status.CHANGED, Status.REVIEWED, Status.PLANNED}),
    earlier=Earlier.RUN,
    reads_failures=True,
    local=Local(
        "continue the last run in this repository",
        "Continue the last run of fix, plan or explain in this repository, or the run in a folder. The work tree has "
        "that run's change, and the new branch has both. Without an instruction it finishes the earlier request.",
        'slash-agent continue --repo . "and rename it"',
        "what to do next, after the folder of a run if it is not the last one",
    ),
)
