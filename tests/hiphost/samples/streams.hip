// Two streams, an event between them, pinned memory and asynchronous copies.
#include "sample.h"

constexpr int kCount = 512;

__global__ void square(const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] * in[i];  // fault 1: memory/load-out-of-bounds
}
__global__ void add(const int* a, const int* b, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = a[i] + b[i];
}

int main() {
  int *host, *a, *b;
  hipStream_t streams[2];
  hipEvent_t done;
  float milliseconds = -1.0f;
  bool right = true;
  CHECK(hipHostMalloc(&host, kCount * sizeof(int), hipHostMallocDefault));
  CHECK(hipMalloc(&a, kCount * sizeof(int)));
  CHECK(hipMalloc(&b, kCount * sizeof(int)));
  for (hipStream_t& stream : streams) CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  CHECK(hipEventCreateWithFlags(&done, hipEventDefault));
  for (int i = 0; i < kCount; i++) host[i] = i - 100;
  CHECK(hipMemcpyAsync(a, host, kCount * sizeof(int), hipMemcpyHostToDevice, streams[0]));
#if FAULT == 1
  CHECK(hipFree(a));
#endif
  square<<<kCount / 128, 128, 0, streams[0]>>>(a, b);
  (void)hipEventRecord(done, streams[0]);
  (void)hipStreamWaitEvent(streams[1], done, 0);
#if FAULT != 1
  add<<<kCount / 128, 128, 0, streams[1]>>>(a, b, b);
#endif
  (void)hipMemcpyAsync(host, b, kCount * sizeof(int), hipMemcpyDeviceToHost, streams[1]);
  (void)hipStreamSynchronize(streams[1]);
  (void)hipEventElapsedTime(&milliseconds, done, done);
  for (int i = 0; i < kCount; i++) right = right && host[i] == (i - 100) * (i - 99);
  for (hipStream_t stream : streams) (void)hipStreamDestroy(stream);
  (void)hipEventDestroy(done);
  (void)hipHostFree(host);
#if FAULT != 1
  (void)hipFree(a);
#endif
#if FAULT == 2
  (void)hipFree(a);
#endif
  (void)hipFree(b);
  return verdict(right && milliseconds == 0.0f);
}
