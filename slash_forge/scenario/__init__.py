"""What people and Actions do on GitHub without its API, as mixins of `Forge`."""
