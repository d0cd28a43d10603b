"""One module a verb of the command line: parse, call one function, print. No logic lives here."""
