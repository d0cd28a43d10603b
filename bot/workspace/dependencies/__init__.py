"""Installed packages of the checkout, and how they are made visible in a work tree without a copy."""
