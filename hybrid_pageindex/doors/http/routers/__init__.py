"""The routes, a file for each thing that they are about. Each calls the engine and says what it says."""
