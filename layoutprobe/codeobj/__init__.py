"""ELF, kernel descriptor, metadata and line table of an AMD code object. Knows no instruction."""
