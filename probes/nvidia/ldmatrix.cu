// ldmatrix.x4: four 8x8 matrices of halves in shared memory -> registers -> dump.
//
// TRANSPOSED is 1 for .trans. Lane l names row l of the 32 x 8 tile: row l % 8 of matrix l / 8.
#include "probe.h"

#if TRANSPOSED
#define LDMATRIX "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
#else
#define LDMATRIX "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
#endif

constexpr int kRows = 32, kCols = 8;

extern "C" __global__ void __launch_bounds__(32)
ldmatrix(const u16* tile,  // [32][8]
         u32* regs)        // [wave][vgpr][lane]
{
  __shared__ alignas(16) u16 lds[kRows * kCols];
  const int lane = threadIdx.x;
  for (int i = lane; i < kRows * kCols; i += kLanes) lds[i] = tile[i];
  __syncthreads();
  const u32 from = shared_address(&lds[lane * kCols]);
  u32 r[4];
  asm volatile(LDMATRIX " {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(from)
               : "memory");
  dump(regs, 0, lane, r);
}
