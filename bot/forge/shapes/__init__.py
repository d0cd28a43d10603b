"""How the forge's values look as GitHub's JSON. Pure: data in, data out, one module a family of schemas."""
