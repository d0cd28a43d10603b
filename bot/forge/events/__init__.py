"""What GitHub delivers when something happens: event payloads, one module a family."""
