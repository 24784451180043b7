"""Make this a package of its own: a package of others installs a `tests` too, which would hide it."""
