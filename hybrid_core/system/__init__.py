"""The machine: paths, optional packages, what must not leave it."""
