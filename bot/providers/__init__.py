"""One adapter for each wire format behind one event grammar; retries, models and prices, recorded answers."""
