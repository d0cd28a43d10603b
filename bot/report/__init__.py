"""What people read of a run, made from its journal alone."""
