"""Reports of evaluation runs, and the handlers of the command line."""
