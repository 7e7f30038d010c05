"""One policy around every call of a model: limits, retries, rest."""
