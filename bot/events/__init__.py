"""From an event's payload to a `Request`, a `Refusal` or `NoRequest`: before any checkout or model call."""
