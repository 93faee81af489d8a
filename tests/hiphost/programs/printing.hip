// Kernels that print: whole numbers, reals, strings, formats that only the run knows, from branches and loops.
#include <hip/hip_runtime.h>

#include <cassert>
#include <cstdio>

__device__ void inner(int n) {
  if (n % 2) printf("odd %d\n", n);
}
__global__ void hello(int n, const char* text, const char* format) {
  printf("thread %d of %u: %5.2f|%-6s|%#x%c\n", (int)threadIdx.x, blockDim.x, n * 0.5, "ab", n, 'z');
  if (threadIdx.x == 1) printf("%% %lld %s\n", -1234567890123ll, text);
  inner(threadIdx.x);
  if (threadIdx.x == 2) printf(format, 11, 2.5f);
}
__global__ void flood(int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) printf("%d %d %d %d %d %d %d %d %d %d %d %d\n", i, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
}
__global__ void last_words(int n) {
  printf("before the fault\n");
  assert(n == 3);
}

int main(int argc, char**) {
  char* texts;
  printf("host\n");
  (void)hipHostMalloc(&texts, 64, 0);
  snprintf(texts, 32, "given");
  snprintf(texts + 32, 32, "made %%d %%g\n");
  hello<<<1, 3>>>(7, texts, texts + 32);
  if (argc > 1) flood<<<1, 256>>>(12000);
  last_words<<<1, 1>>>(argc);
  (void)hipDeviceSynchronize();
  return 0;
}
