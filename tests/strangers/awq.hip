// int4 weights to half: w[k][n] = (code - zero) * scale, two codes a byte along n, signed around 8; groups of 64 rows.
#include <hip/hip_runtime.h>
#include <cstdint>
namespace quant {
struct Geometry { int rows, columns; __host__ __device__ int bytes() const { return rows * columns / 2; } };

__global__ void unpack_int4(_Float16 *__restrict__ dst, const uint8_t *__restrict__ src, const _Float16 *__restrict__ scales,
                            Geometry g) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= g.bytes()) return;
  const int row = at / (g.columns / 2), column = at % (g.columns / 2) * 2;
  const uint8_t both = src[at];
  for (int i = 0; i < 2; i++) {
    const int code = (both >> (4 * i) & 15) - 8;
    dst[row * g.columns + column + i] = (_Float16)(code * (float)scales[row / 64 * g.columns + column + i]);
  }
}

void unpack(_Float16 *dst, const uint8_t *src, const _Float16 *scales, int rows, int columns) {
  Geometry g{rows, columns};
  const int threads = 256;
  unpack_int4<<<(rows * columns / 2 + threads - 1) / threads, threads>>>(dst, src, scales, g);
}
}  // namespace quant
