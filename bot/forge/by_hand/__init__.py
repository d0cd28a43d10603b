"""What people and Actions do to a GitHub without its API: each module is one part of `Forge`."""
