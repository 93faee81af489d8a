// Functions of the host between pieces of work of a stream, and what a program may ask a stream and an event.
#include "sample.h"

__global__ void add(int* value, int what) { *value += what; }

static void count(void* data) { ++*(int*)data; }
static void counted(hipStream_t, hipError_t status, void* data) { *(int*)data += status == hipSuccess ? 10 : 1000; }

int main() {
  int *value, calls = 0, found = 0;
  hipStream_t stream;
  hipEvent_t end;
  unsigned flags = 99;
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  CHECK(hipEventCreateWithFlags(&end, hipEventDisableTiming));
  CHECK(hipMalloc(&value, sizeof(int)));
  CHECK(hipMemsetAsync(value, 0, sizeof(int), stream));
  for (int i = 1; i <= 5; i++) {
    add<<<1, 1, 0, stream>>>(value, i);
    CHECK(hipLaunchHostFunc(stream, count, &calls));
  }
  CHECK(hipStreamAddCallback(stream, counted, &calls, 0));
  CHECK(hipEventRecord(end, stream));
  while (hipEventQuery(end) == hipErrorNotReady) continue;
  CHECK(hipEventSynchronize(end));
  CHECK(hipMemcpy(&found, value, sizeof found, hipMemcpyDeviceToHost));
  CHECK(hipStreamGetFlags(stream, &flags));
  CHECK(hipEventDestroy(end));
  CHECK(hipStreamDestroy(stream));
  CHECK(hipFree(value));
  return verdict(found == 15 && calls == 15 && flags == hipStreamNonBlocking);
}
