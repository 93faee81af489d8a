"""`layoutprobe check`: a manifest in, verdicts out."""
