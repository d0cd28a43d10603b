"""One adapter for each wire format behind one form of answer; retries, models and prices, recorded answers."""
