"""The catalog: the single source of truth, in SQLite or PostgreSQL."""
