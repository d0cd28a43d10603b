"""The agent: one loop over a model and its tools, its journal, and the prompts.

Imports neither GitHub nor a vendor's wire format, and opens no file of the work tree. Small values are named
tuples: a frozen dataclass adds 0.8 ms to every start of the program, a named tuple 0.1 ms.
"""
