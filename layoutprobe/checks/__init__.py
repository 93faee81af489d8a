"""Laws that a report is held against, one module each. A check never prints."""
