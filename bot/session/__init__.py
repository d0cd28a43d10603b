"""One job from request to bundle: wiring only. Each rule lives in the package that it belongs to."""
