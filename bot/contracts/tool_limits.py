"""Limits of the tools: of their output, and those that the model is told and the schema enforces."""

MAX_OUTPUT = 12_000
"""Characters of one command's output in a result, without notes."""
MAX_LINE = 2_000

MAX_BACKGROUND = 5
"""Commands that may run in the background at once."""
MAX_MATCH = 500
"""Characters of a line that a search shows."""
MAX_CONTEXT = 20

MAX_LINES = 2000
MAX_ENTRIES = 1000
MAX_FILES = 100
MAX_MATCHES = 100
DEFAULT_TIMEOUT = 120
MAX_TIMEOUT = 600
"""Seconds, the maximum in the schema, by which the supervisor validates the model's calls."""
MAX_WAIT = 100
"""Seconds. Less than the supervisor waits for a call without a time limit."""
