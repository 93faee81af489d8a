"""`layoutprobe hipcc`: a compiler driver with hipcc's options, for host and device code of one source."""
