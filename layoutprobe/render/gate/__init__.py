"""A GateReport, in every format."""
