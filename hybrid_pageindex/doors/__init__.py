"""The interfaces: command line, HTTP, MCP and job dispatcher. Each calls the engine and returns its values."""
