"""The Model Context Protocol: a thin layer over the engine for agents. Imported by the command ``mcp`` only."""
