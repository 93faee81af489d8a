"""Runs the probes of a command as the user chose, and solves what came back."""
