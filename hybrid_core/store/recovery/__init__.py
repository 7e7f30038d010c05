"""Recovery of a damaged catalog: copy all readable data into a new one."""
