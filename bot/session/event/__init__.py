"""One GitHub event, from payload to answer or bundle, and the verbs that Actions runs."""
