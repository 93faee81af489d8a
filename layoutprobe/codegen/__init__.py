"""Device code for what was solved: as HIP, and as assembly. Text goes out, nothing is run here."""
