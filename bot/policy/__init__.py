"""The policy file: schema, load, shell grammar, decide. Reads text, decides, does nothing itself."""
