"""How text by somebody else is written down in Markdown of ours. Pure; what of it may leave is the gate's to say."""
