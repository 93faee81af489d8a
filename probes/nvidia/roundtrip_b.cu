// Roundtrip of B: K x N in memory, transposed in shared memory, as the operand probe keeps it.
#define ROUNDTRIP_B
#include "roundtrip.cu"
