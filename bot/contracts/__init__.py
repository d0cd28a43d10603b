"""Value types that packages exchange. Only the standard library is imported."""
