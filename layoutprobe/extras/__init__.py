"""Optional parts that nothing in the core imports."""
