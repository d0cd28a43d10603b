"""From an event's payload to a `Request`, a `Refusal` or `Ignored`: before any checkout or model call."""
