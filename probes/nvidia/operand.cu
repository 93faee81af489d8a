// Operand dump: global -> shared memory (scheme) -> ldmatrix -> registers that feed mma.sync -> dump.
//
// Four warps; the block tile is M = 64, N = 32, K = 16. Warp w multiplies rows [16w, 16w+16) of A
// with columns [8w, 8w+8) of B. B lies transposed in shared memory, so that ldmatrix reads both
// operands as rows of k.
#include "probe.h"
#include "lds/lds_schemes.h"

constexpr int kM = 64, kN = 32, kK = 16;
constexpr int kThreads = 128;

extern "C" __global__ void __launch_bounds__(kThreads)
operand(const u16* A,  // [64][16] row-major, M x K
        const u16* B,  // [16][32] row-major, K x N
        u32* a_regs,   // [wave][vgpr][lane]
        u32* b_regs,   // [wave][vgpr][lane]
        u32* d_regs)   // [wave][vgpr][lane]
{
  __shared__ alignas(16) u16 a_lds[lds_size(kM, kK)];  // [m][k]
  __shared__ alignas(16) u16 b_lds[lds_size(kN, kK)];  // [n][k]: B transposed
  const int thread = threadIdx.x;
  const int wave = thread / kLanes, lane = thread % kLanes;

  const int a_row = thread / 2, a_col = thread % 2 * kChunk;
  *(u32x4*)&a_lds[lds_index<kK>(a_row, a_col)] = *(const u32x4*)&A[a_row * kK + a_col];
  for (int i = thread; i < kK * kN; i += kThreads) b_lds[lds_index<kK>(i % kN, i / kN)] = B[i];
  __syncthreads();

  // Lane l names row l % 8 of 8x8 matrix l / 8; each lane gets 2 halves of one row of each matrix.
  const u32 a_from = shared_address(&a_lds[lds_index<kK>(wave * 16 + lane % 16, lane / 16 * kChunk)]);
  const u32 b_from = shared_address(&b_lds[lds_index<kK>(wave * 8 + lane % 8, lane / 8 % 2 * kChunk)]);
  u32 a[4], b[2], d[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(a_from)
               : "memory");
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
               : "=r"(b[0]), "=r"(b[1])
               : "r"(b_from)
               : "memory");

  float product[4];
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
               " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
               : "=f"(product[0]), "=f"(product[1]), "=f"(product[2]), "=f"(product[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(0.0f));
#pragma unroll
  for (int v = 0; v < 4; ++v) d[v] = (u32)__float_as_int(product[v]);
  dump(a_regs, wave, lane, a);
  dump(b_regs, wave, lane, b);
  dump(d_regs, wave, lane, d);
}
