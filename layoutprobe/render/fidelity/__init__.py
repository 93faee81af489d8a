"""A FidelityReport, in every format."""
