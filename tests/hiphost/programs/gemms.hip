// Seven products, each as another program would have it, chosen by name. `layoutprobe init --from-run` has to find out
// what they are; the expected manifest is in test_from_run.py.
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call) \
  if ((call) != hipSuccess) exit(3)

typedef _Float16 Half16 __attribute__((ext_vector_type(16)));
typedef float Float8 __attribute__((ext_vector_type(8)));

constexpr int kTile = 16;

// 1: tiles in LDS, any size.
__global__ void tiled(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float as[kTile][kTile], bs[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
  float sum = 0.0f;
  for (int at = 0; at < k; at += kTile) {
    as[y][x] = row < m && at + x < k ? a[row * k + at + x] : 0.0f;
    bs[y][x] = at + y < k && column < n ? b[(at + y) * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < kTile; i++) sum += as[y][i] * bs[i][x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

// 2: weights stored by columns, alpha and beta, names that say nothing.
__global__ void linear(const __half* x, const __half* w, float* y, float alpha, float beta, int rows, int columns,
                       int depth) {
  const _Float16 *p = (const _Float16*)x, *q = (const _Float16*)w;
  const int lane = threadIdx.x % 16, high = threadIdx.x / 16, row = blockIdx.x * 16, column = blockIdx.y * 16;
  Float8 sums = {};
  for (int at = 0; at < depth; at += 16) {
    Half16 f, g;
    for (int i = 0; i < 16; i++) {
      f[i] = p[(row + lane) * depth + at + i];
      g[i] = q[(column + lane) * depth + at + i];
    }
    sums = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(f, g, sums);
  }
  for (int i = 0; i < 8; i++) {
    float* to = y + (row + 2 * i + high) * columns + column + lane;
    *to = alpha * sums[i] + beta * *to;
  }
}

// 3: bits of bf16, rows with padding, a grid of one axis.
__device__ float widened(unsigned short bits) { return __uint_as_float(unsigned(bits) << 16); }
__global__ void padded(const unsigned short* A, const unsigned short* B, float* C, int M, int N, int K, int lda) {
  const int across = (N + 15) / 16, row = blockIdx.x / across * 16 + threadIdx.y;
  const int column = blockIdx.x % across * 16 + threadIdx.x;
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (int i = 0; i < K; i++) sum += widened(A[row * lda + i]) * widened(B[i * N + column]);
  C[row * N + column] = sum;
}

// 4: extents that only the compiler knows, a bias and an activation.
constexpr int kM = 32, kN = 48, kK = 16;
__global__ void layer(const float* in, const float* weights, const float* bias, float* out) {
  const int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  float sum = bias[column];
  for (int i = 0; i < kK; i++) sum += in[row * kK + i] * weights[i * kN + column];
  out[row * kN + column] = sum > 0.0f ? sum : 0.0f;
}

// 5: parts of K that add up in zeroed memory, and LDS whose size follows from K.
__global__ void split(const float* a, const float* b, float* c, int m, int n, int k) {
  extern __shared__ float row_of_a[];
  const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y, half = k / 2, from = blockIdx.z * half;
  for (int i = threadIdx.x; i < k; i += 32) row_of_a[i] = a[row * k + i];
  __syncthreads();
  float sum = 0.0f;
  for (int i = from; i < from + half; i++) sum += row_of_a[i] * b[i * n + column];
  if (column < n) atomicAdd(c + row * n + column, sum);
}

// 6: as libraries call it: batches that the grid counts, padded rows, strides, and factors that differ from launch to
// launch, one of them zero.
__global__ void strided(int m, int n, int k, float alpha, const float* A, int lda, long strideA, const float* B, int ldb,
                        long strideB, float beta, float* C, int ldc, long strideC) {
  A += blockIdx.z * strideA, B += blockIdx.z * strideB, C += blockIdx.z * strideC;
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0.0f;
  for (int i = 0; i < k; i++) sum += A[row * lda + i] * B[i * ldb + column];
  C[row * ldc + column] = alpha * sum + beta * C[row * ldc + column];
}

// 7: an array of pointers for each matrix of a batch.
__global__ void pointed(const float* const* A, const float* const* B, float* const* C, int m, int n, int k) {
  const float *a = A[blockIdx.z], *b = B[blockIdx.z];
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0.0f;
  for (int i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + column];
  C[blockIdx.z][row * n + column] = sum;
}

struct Size {
  int m, n, k;
};
static unsigned state = 1;
static int digit() { return int((state = state * 1664525u + 1013904223u) >> 24) % 9 - 4; }

template <typename T>
T* filled(size_t count, T (*made)(int)) {
  std::vector<T> host(count);
  for (T& one : host) one = made(made ? digit() : 0);
  T* device;
  CHECK(hipMalloc(&device, count * sizeof(T)));
  CHECK(hipMemcpy(device, host.data(), count * sizeof(T), hipMemcpyHostToDevice));
  return device;
}
static float number(int value) { return float(value); }
static float nothing(int) { return 0.0f; }
static __half half_of(int value) { return __float2half(float(value)); }
static unsigned short bits_of(int value) {
  const float as_float = float(value);
  unsigned bits;
  memcpy(&bits, &as_float, sizeof bits);
  return (unsigned short)(bits >> 16);
}

// Of one allocation, or of one each.
static float** pointers(int batches, size_t count, bool apart, float (*made)(int)) {
  std::vector<float*> host;
  float* whole = apart ? nullptr : filled(batches * count, made);
  for (int i = 0; i < batches; i++) host.push_back(apart ? filled(count, made) : whole + i * count);
  float** device;
  CHECK(hipMalloc(&device, batches * sizeof(float*)));
  CHECK(hipMemcpy(device, host.data(), batches * sizeof(float*), hipMemcpyHostToDevice));
  return device;
}

int main(int count, char** words) {
  const char* name = count > 1 ? words[1] : "";
  const auto is = [name](const char* other) { return strcmp(name, other) == 0; };
  for (const auto [m, n, k] : {Size{32, 32, 16}, Size{40, 24, 50}, Size{17, 70, 33}}) {
    const dim3 block(16, 16);
    const int across = (n + 15) / 16, down = (m + 15) / 16;
    if (is("tiled"))
      tiled<<<dim3(across, down), block>>>(filled(m * k, number), filled(k * n, number), filled(m * n, nothing), m, n, k);
    if (is("padded"))
      padded<<<across * down, block>>>(filled(m * (k + 8), bits_of), filled(k * n, bits_of), filled(m * n, nothing), m,
                                       n, k, k + 8);
    if (is("pointed")) {
      const int batches = m == 32 ? 2 : m == 17 ? 4 : 3;
      pointed<<<dim3(across, down, batches), block>>>(pointers(batches, m * k, true, number),
                                                      pointers(batches, k * n, false, number),
                                                      pointers(batches, m * n, true, nothing), m, n, k);
    }
    if (is("strided")) {
      const int batches = m == 32 ? 2 : m == 17 ? 3 : 1;
      strided<<<dim3(across, down, batches), block>>>(
          m, n, k, m == 32 ? 1.0f : 0.5f, filled(batches * m * (k + 8), number), k + 8, long(m) * (k + 8),
          filled(batches * k * n, number), n, long(k) * n, m == 32 ? 0.0f : 2.0f, filled(batches * m * (n + 4), number),
          n + 4, long(m) * (n + 4));
    }
  }
  for (const auto [m, n, k] : {Size{32, 64, 32}, Size{64, 32, 64}, Size{16, 96, 128}}) {
    if (is("linear"))
      linear<<<dim3(m / 16, n / 16), 32>>>(filled(m * k, half_of), filled(n * k, half_of), filled(m * n, number), 2.0f,
                                           0.5f, m, n, k);
    if (is("split")) {
      split<<<dim3(n / 32, m, 2), 32, k * sizeof(float)>>>(filled(m * k, number), filled(k * n, number),
                                                           filled(m * n, nothing), m, n, k);
    }
  }
  if (is("layer"))
    layer<<<dim3(kN / 16, kM / 16), dim3(16, 16)>>>(filled(kM * kK, number), filled(kK * kN, number),
                                                   filled(kN, number), filled(kM * kN, nothing));
  CHECK(hipDeviceSynchronize());
  puts("passed");
}
