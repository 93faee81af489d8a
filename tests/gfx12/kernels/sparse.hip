// One sparse product of RDNA4: A keeps the first two of every four k. grid: 1  block: 32
typedef _Float16 half;
typedef half half8 __attribute__((ext_vector_type(8)));
typedef half half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));

extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(32, 32)))
gemm(const half* A, const half* B, float* C, unsigned M, unsigned N, unsigned K) {
  const unsigned lane = __builtin_amdgcn_workitem_id_x(), line = lane % 16, group = lane / 16;
  half8 a;
  half16 b;
  for (unsigned e = 0; e < 8; ++e) a[e] = A[line * K + 16 * (e / 4) + 8 * group + 4 * (e / 2 % 2) + e % 2];
  for (unsigned e = 0; e < 16; ++e) b[e] = B[(16 * (e / 8) + 8 * group + e % 8) * N + line];
  const float8 d = __builtin_amdgcn_swmmac_f32_16x16x32_f16_w32(a, b, float8{}, (short)0x4444);
  for (unsigned v = 0; v < 8; ++v) C[(8 * group + v) * N + line] = d[v];
}
