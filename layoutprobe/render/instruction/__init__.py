"""A solved instruction, in every format."""
