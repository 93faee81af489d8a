// Roundtrip of B: K x N in memory, transposed in LDS, as the operand probe keeps it.
#define ROUNDTRIP_B
#include "cdna/roundtrip.hip"
