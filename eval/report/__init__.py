"""Reports of runs, and the handlers of the command line."""
