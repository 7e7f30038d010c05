"""The routes of the HTTP API, one module per subject. Each route calls the engine and returns its result as JSON."""
