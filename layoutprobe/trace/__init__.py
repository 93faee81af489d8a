"""Coded runs of a user's kernel: which element each slot holds, where it came from, who is to blame."""
