"""Parse files of a repository, which are hostile, in a child process with limits of memory and time."""
