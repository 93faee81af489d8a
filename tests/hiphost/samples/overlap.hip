// Copies and kernels of two streams that overlap: pieces of one array, an event where one stream needs the other's.
#include "sample.h"

constexpr int kPiece = 256, kPieces = 4, kCount = kPiece * kPieces;

__global__ void smooth(const int* in, int* out, int from) {
  const int i = from + blockIdx.x * blockDim.x + threadIdx.x;
#if FAULT == 2
  out[i] = in[i] + in[(i + 1) % kCount];  // fault 2: host/unordered
#else
  out[i] = in[i] + in[i ^ 1];  // fault 1: host/unordered
#endif
}

int main() {
  int *host, *in, *out;
  hipStream_t copies, kernels;
  hipEvent_t there[kPieces];
  bool right = true;
  CHECK(hipHostMalloc(&host, kCount * sizeof(int), hipHostMallocDefault));
  CHECK(hipMalloc(&in, kCount * sizeof(int)));
  CHECK(hipMalloc(&out, kCount * sizeof(int)));
  CHECK(hipStreamCreateWithFlags(&copies, hipStreamNonBlocking));
  CHECK(hipStreamCreateWithFlags(&kernels, hipStreamNonBlocking));
  for (int i = 0; i < kCount; i++) host[i] = i * i % 101;
  CHECK(hipMemset(in, 0, kCount * sizeof(int)));
  for (int piece = 0; piece < kPieces; piece++) {
    const int from = piece * kPiece;
    CHECK(hipMemcpyAsync(in + from, host + from, kPiece * sizeof(int), hipMemcpyHostToDevice, copies));
    CHECK(hipEventCreate(&there[piece]));
    CHECK(hipEventRecord(there[piece], copies));
#if FAULT != 1
    CHECK(hipStreamWaitEvent(kernels, there[piece], 0));
#endif
    smooth<<<kPiece / 64, 64, 0, kernels>>>(in, out, from);
  }
  CHECK(hipStreamSynchronize(kernels));
  CHECK(hipMemcpy(host, out, kCount * sizeof(int), hipMemcpyDeviceToHost));
  for (int i = 0; i < kCount; i++) right = right && host[i] == i * i % 101 + (i ^ 1) * (i ^ 1) % 101;
  for (hipEvent_t event : there) CHECK(hipEventDestroy(event));
  CHECK(hipStreamDestroy(copies));
  CHECK(hipStreamDestroy(kernels));
  CHECK(hipFree(in));
  CHECK(hipFree(out));
  CHECK(hipHostFree(host));
  return verdict(right);
}
