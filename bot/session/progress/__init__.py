"""What people see of a running session, and how they cancel it."""
