"""How a repository's contributors and its CI install and check it, read from its files. Pure: nothing is run."""
