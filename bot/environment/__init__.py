"""How a repository's contributors and its CI install and check it, read from its files; and the folders of installed
packages that a checkout has."""
