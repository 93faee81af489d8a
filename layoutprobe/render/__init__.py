"""Reports for people and programs, by subject; formats.py lists them. Renders, and decides nothing."""
