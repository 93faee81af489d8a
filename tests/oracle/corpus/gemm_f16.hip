// A WMMA GEMM, f16 to f16, LDS tiles with padding, register prefetch, bias and relu in the epilogue.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef _Float16 half8 __attribute__((ext_vector_type(8)));
typedef float float8 __attribute__((ext_vector_type(8)));
#define SYNC() do { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); } while (0)
KERNEL gemm_bias_relu(const _Float16 *__restrict__ A, const _Float16 *__restrict__ B, const _Float16 *__restrict__ bias, _Float16 *__restrict__ C, int M, int N, int K) {
  SHARED _Float16 As[64 * 24];
  SHARED _Float16 Bs[64 * 24];
  u32 t = TID, lane = t & 31, wave = t >> 5; // 128 threads, tile 64x64
  u32 wm = (wave & 1) * 32, wn = (wave >> 1) * 32;
  u32 bm = BLOCK * 64, bn = __builtin_amdgcn_workgroup_id_y() * 64;
  float8 acc[2][2] = {};
  u32 r = t >> 1, c = (t & 1) * 8;
  half8 pa = *(const half8 *)&A[(bm + r) * (u32)K + c], pb = *(const half8 *)&B[(bn + r) * (u32)K + c];
  for (u32 k0 = 0; k0 < (u32)K; k0 += 16) {
    *(half8 *)&As[r * 24 + c] = pa;
    *(half8 *)&Bs[r * 24 + c] = pb;
    SYNC();
    if (k0 + 16 < (u32)K) {
      pa = *(const half8 *)&A[(bm + r) * (u32)K + k0 + 16 + c];
      pb = *(const half8 *)&B[(bn + r) * (u32)K + k0 + 16 + c];
    }
    half16 a[2], b[2];
    for (u32 i = 0; i < 2; i++) {
      a[i] = *(const half16 *)__builtin_assume_aligned(&As[(wm + i * 16 + (lane & 15)) * 24], 16);
      b[i] = *(const half16 *)__builtin_assume_aligned(&Bs[(wn + i * 16 + (lane & 15)) * 24], 16);
    }
    for (u32 i = 0; i < 2; i++)
      for (u32 j = 0; j < 2; j++) acc[i][j] = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a[i], b[j], acc[i][j]);
    SYNC();
  }
  for (u32 i = 0; i < 2; i++)
    for (u32 j = 0; j < 2; j++)
      for (u32 v = 0; v < 8; v++) {
        u32 m = bm + wm + i * 16 + 2 * v + (lane >> 4), n = bn + wn + j * 16 + (lane & 15);
        float x = acc[i][j][v] + (float)bias[n];
        if (m < (u32)M && n < (u32)N) C[m * (u32)N + n] = (_Float16)__builtin_fmaxf(x, 0.0f);
      }
}
