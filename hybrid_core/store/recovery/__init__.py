"""Recovery: save what a damaged catalog still contains in a new one."""
