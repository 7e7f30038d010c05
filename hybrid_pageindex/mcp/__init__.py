"""The Model Context Protocol: a thin door to the engine for agents. Imported by the command ``mcp`` only."""
