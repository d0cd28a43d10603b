"""The agent: one visible loop over a model and its tools, the journal of it, and the prompts.

Knows no GitHub, no vendor's wire format, and opens no file of the work tree. Small values here are named tuples:
a frozen dataclass takes 0.8 ms to define, at every start of the program, and a named tuple 0.1.
"""
