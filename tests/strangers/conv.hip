/* Implicit GEMM convolution, NHWC, 3x3, stride 1, pad 1.
 *   out[n, p, q, k] = sum over r, s, c of in[n, p + r - 1, q + s - 1, c] * wei[k, r, s, c]
 * GEMM view: M = N*H*W, N = K (filters), K = 9*C
 */
#include <hip/hip_runtime.h>

typedef _Float16 f16;
typedef f16 f16x16 __attribute__((ext_vector_type(16)));
typedef float f32x8 __attribute__((ext_vector_type(8)));

struct ConvShape {
  int n, h, w, c, k;
};

__global__ void conv3x3_igemm(const f16 *in, const f16 *wei, f16 *out, ConvShape shape) {
  const int lane = threadIdx.x;
  const int pixels = shape.n * shape.h * shape.w;
  const int pixel = blockIdx.x * 16 + lane % 16;
  const int filter = blockIdx.y * 16 + lane % 16;
  const int img = pixel / (shape.h * shape.w);
  const int p = pixel / shape.w % shape.h, q = pixel % shape.w;
  f32x8 acc = {0, 0, 0, 0, 0, 0, 0, 0};
  for (int r = 0; r < 3; r++)
    for (int s = 0; s < 3; s++) {
      const int y = p + r - 1, x = q + s - 1;
      const bool inside = pixel < pixels && y >= 0 && y < shape.h && x >= 0 && x < shape.w;
      for (int c0 = 0; c0 < shape.c; c0 += 16) {
        f16x16 a, b;
        for (int i = 0; i < 16; i++) {
          const int c = c0 + i;
          a[i] = inside && c < shape.c ? in[((img * shape.h + y) * shape.w + x) * shape.c + c] : (f16)0;
          b[i] = filter < shape.k && c < shape.c ? wei[((filter * 3 + r) * 3 + s) * shape.c + c] : (f16)0;
        }
        acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc);
      }
    }
  for (int i = 0; i < 8; i++) {
    const int row = blockIdx.x * 16 + 2 * i + lane / 16;
    if (row < pixels && filter < shape.k) out[row * shape.k + filter] = (f16)acc[i];
  }
}

void conv3x3(const f16 *in, const f16 *wei, f16 *out, int n, int h, int w, int c, int k) {
  ConvShape shape = {n, h, w, c, k};
  dim3 grid((n * h * w + 15) / 16, (k + 15) / 16);
  conv3x3_igemm<<<grid, 32>>>(in, wei, out, shape);
}
