"""A recorded run in the terminal, to be walked through; the only importer of textual, which is optional."""
