"""What was found, as plain data."""
