"""Worker processes that parse and build, their protocol, and a pool that survives crashes."""
