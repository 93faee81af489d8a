"""Probe specs, and the one way in which a probe is compiled, launched and captured."""
