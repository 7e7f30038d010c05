"""Stand-ins for models and servers; they pass the same contracts as what they stand for."""
