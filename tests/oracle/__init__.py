"""Independent evidence: AMD's pseudocode, the compiler's assembly text, and kernels to compare on."""
