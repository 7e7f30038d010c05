"""Language models: one interface to providers, structured replies, and cached or recorded replies."""
