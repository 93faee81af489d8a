// Conway's game of life on a torus, from one array into another and back.
#include "sample.h"

constexpr int kSide = 32;

__host__ __device__ inline int next(const int* cells, int x, int y) {
  int count = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++)
      if (dx || dy) count += cells[(y + dy + kSide) % kSide * kSide + (x + dx + kSide) % kSide];
  return count == 3 || (count == 2 && cells[y * kSide + x]);
}

__global__ void step(const int* from, int* to) {
  const int x = threadIdx.x, y = blockIdx.x * blockDim.y + threadIdx.y;
  to[y * kSide + x] = next(from, x, y);
}

int main() {
  static int cells[kSide * kSide], expected[kSide * kSide], found[kSide * kSide];
  int *one, *other;
  bool right = true;
  for (int i = 0; i < kSide * kSide; i++) cells[i] = i * i % 7 < 3;
  CHECK(hipMalloc(&one, sizeof cells));
  CHECK(hipMalloc(&other, sizeof cells));
  CHECK(hipMemcpy(one, cells, sizeof cells, hipMemcpyHostToDevice));
  for (int turn = 0; turn < 4; turn++) {
    step<<<kSide / 8, dim3(kSide, 8)>>>(turn % 2 ? other : one, turn % 2 ? one : other);
    for (int i = 0; i < kSide * kSide; i++) expected[i] = next(cells, i % kSide, i / kSide);
    for (int i = 0; i < kSide * kSide; i++) cells[i] = expected[i];
  }
  CHECK(hipMemcpy(found, one, sizeof found, hipMemcpyDeviceToHost));
  for (int i = 0; i < kSide * kSide; i++) right = right && found[i] == expected[i];
  CHECK(hipFree(one));
  CHECK(hipFree(other));
  return verdict(right);
}
