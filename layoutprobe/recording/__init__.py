"""One run of chosen workgroups, kept instruction by instruction, and every state that it went through."""
