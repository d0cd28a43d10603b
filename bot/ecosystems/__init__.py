"""One file for each language or family of build tools: what the rest of the program asks about it."""
