// C = A * B through LDS and the matrix instruction of the target, f16 to f32: one 16x16 tile a wave,
// four waves a workgroup, side by side. M, N and K are multiples of 16, 64 and 16.
typedef unsigned int u32;
typedef _Float16 half;

#if __GFX12__ && defined(WAVE64)
constexpr u32 kLanes = 64, kA = 4, kD = 4;
#define WMMA __builtin_amdgcn_wmma_f32_16x16x16_f16_w64_gfx12
#elif __GFX12__
constexpr u32 kLanes = 32, kA = 8, kD = 8;
#define WMMA __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12
#else
constexpr u32 kLanes = 64, kA = 16, kD = 4;
#define WMMA __builtin_amdgcn_wmma_f32_16x16x16_f16_w64
#endif
typedef half Fragment __attribute__((ext_vector_type(kA)));
typedef float Tile __attribute__((ext_vector_type(kD)));

// AMD matrix instruction calculator, rdna3 and rdna4: k of element e of a lane's row of A (and column
// of B), and the row of D in VGPR v.
__attribute__((device)) u32 k_of(u32 lane, u32 e) {
#if __GFX12__ && defined(WAVE64)
  return 8 * (lane / 32) + 4 * (lane / 16 % 2) + e;
#elif __GFX12__
  return 8 * (e / 4) + 4 * (lane / 16) + e % 4;
#else
  return e;
#endif
}
__attribute__((device)) u32 row_of(u32 lane, u32 v) {
#if __GFX12__ && defined(WAVE64)
  return 8 * (lane / 16 % 2) + 4 * (lane / 32) + v;
#elif __GFX12__
  return 8 * (lane / 16) + v;
#else
  return 4 * v + lane / 16;
#endif
}

extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(4 * kLanes, 4 * kLanes)))
gemm(const half* A, const half* B, float* C, u32 M, u32 N, u32 K) {
  __attribute__((shared)) static half a[16][18], b[64][18];  // B transposed
  const u32 thread = __builtin_amdgcn_workitem_id_x(), wave = thread / kLanes, lane = thread % kLanes;
  const u32 row = 16 * __builtin_amdgcn_workgroup_id_y(), col = 64 * __builtin_amdgcn_workgroup_id_x();
  Tile sum = {};
  for (u32 k = 0; k < K; k += 16) {
    for (u32 i = thread; i < 256; i += 4 * kLanes) a[i / 16][i % 16] = A[(row + i / 16) * K + k + i % 16];
    for (u32 i = thread; i < 1024; i += 4 * kLanes) b[i % 64][i / 64] = B[(k + i / 64) * N + col + i % 64];
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    Fragment x, y;
    for (u32 e = 0; e < kA; e++) {
      x[e] = a[lane % 16][k_of(lane, e)];
      y[e] = b[16 * wave + lane % 16][k_of(lane, e)];
    }
    sum = WMMA(x, y, sum);
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  }
  for (u32 v = 0; v < kD; v++) C[(row + row_of(lane, v)) * N + col + 16 * wave + lane % 16] = sum[v];
}
