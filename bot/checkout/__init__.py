"""Clone and read git repositories, and create branches.

GitPython runs the commands that talk to a server (`remote.py`). Its objects (`Repo`, `Head`, `Remote`) are not used:
they obey the configuration of the repository (`Repo.is_dirty` runs its `core.fsmonitor`, `config_reader` follows its
`include.path`) and inherit our environment. The repositories here are untrusted, so all else runs through `Git`
(`git.py`), which inherits nothing and has limits. docs/decisions.md has the measurements.
"""
