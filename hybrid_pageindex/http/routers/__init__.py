"""The routes, a module for each subject. Each calls the engine and returns its values."""
