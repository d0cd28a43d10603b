"""Prints its process id, and ends with its standard input. Its environment is the target of attacks."""

import os
import sys

print(os.getpid(), flush=True)
sys.stdin.read()
