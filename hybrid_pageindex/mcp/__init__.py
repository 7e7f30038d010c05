"""The Model Context Protocol: a thin layer over the engine for agents. Only the command ``mcp`` imports it."""
