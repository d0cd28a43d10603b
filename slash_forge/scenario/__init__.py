"""What people and Actions do on GitHub without its API: each module is one mixin of `Forge`."""
