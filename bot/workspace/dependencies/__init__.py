"""Make the installed packages of a checkout visible in a work tree without a copy."""
