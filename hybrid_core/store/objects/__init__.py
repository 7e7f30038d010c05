"""Files that are kept by a name that tells their bytes: in a folder of the home, or in a bucket for many machines."""
