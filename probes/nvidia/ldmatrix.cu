// ldmatrix: rows of 8 halves in shared memory -> registers -> dump.
//
// MATRICES is 1, 2 or 4. TRANSPOSED is 1 for .trans. The tile has 8 * MATRICES rows of 8; lane l
// names row l, as far as there are so many.
#include "probe.h"

#if TRANSPOSED
#define TRANS ".trans"
#else
#define TRANS ""
#endif

constexpr int kRows = 8 * MATRICES, kCols = 8;

extern "C" __global__ void __launch_bounds__(32)
ldmatrix(const u16* tile,  // [8 * MATRICES][8]
         u32* regs)        // [wave][vgpr][lane]
{
  __shared__ alignas(16) u16 lds[kRows * kCols];
  const int lane = threadIdx.x;
  for (int i = lane; i < kRows * kCols; i += kLanes) lds[i] = tile[i];
  __syncthreads();
  const u32 from = shared_address(&lds[lane % kRows * kCols]);
  u32 r[MATRICES];
#if MATRICES == 4
  asm volatile("ldmatrix.sync.aligned.m8n8.x4" TRANS ".shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(from)
               : "memory");
#elif MATRICES == 2
  asm volatile("ldmatrix.sync.aligned.m8n8.x2" TRANS ".shared.b16 {%0,%1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(from)
               : "memory");
#else
  asm volatile("ldmatrix.sync.aligned.m8n8.x1" TRANS ".shared.b16 {%0}, [%1];"
               : "=r"(r[0])
               : "r"(from)
               : "memory");
#endif
  dump(regs, 0, lane, r);
}
