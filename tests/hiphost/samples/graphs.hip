// A graph that is captured from two streams, and one that is made by hand; both are launched several times.
#include "sample.h"

constexpr int kCount = 256;

__global__ void scale(const int* in, int* out, int by) {
  out[threadIdx.x] = in[threadIdx.x] * by;  // fault 1: memory/load-out-of-bounds
}
__global__ void add(const int* a, const int* b, int* out) {
  out[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];  // fault 2: host/unordered
}
static void count(void* data) { ++*(int*)data; }

static bool by_hand(int* in, int* out, int* host) {
  hipGraph_t graph;
  hipGraphExec_t made;
  hipGraphNode_t fill, first, second, copy, call;
  int calls = 0, by = 3;
  void* arguments[] = {&in, &out, &by};
  hipMemsetParams ones = {};
  ones.dst = in, ones.elementSize = 4, ones.height = 1, ones.value = 5, ones.width = kCount;
  hipKernelNodeParams launch = {};
  launch.func = (void*)scale, launch.gridDim = dim3(1), launch.blockDim = dim3(kCount);
  launch.kernelParams = arguments;
  hipHostNodeParams counting = {count, &calls};
  CHECK(hipGraphCreate(&graph, 0));
  CHECK(hipGraphAddHostNode(&call, graph, nullptr, 0, &counting));
  CHECK(hipGraphAddMemsetNode(&fill, graph, nullptr, 0, &ones));
  CHECK(hipGraphAddKernelNode(&first, graph, &fill, 1, &launch));
  by = 100;  // the graph has kept 3
  arguments[0] = &out, arguments[1] = &in;
  CHECK(hipGraphAddKernelNode(&second, graph, nullptr, 0, &launch));
  CHECK(hipGraphAddDependencies(graph, &first, &second, 1));
  CHECK(hipGraphAddMemcpyNode1D(&copy, graph, &second, 1, host, in, kCount * sizeof(int), hipMemcpyDeviceToHost));
  CHECK(hipGraphInstantiate(&made, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 3; i++) CHECK(hipGraphLaunch(made, 0));
  CHECK(hipDeviceSynchronize());
  bool right = calls == 3 && host[7] == 1500;
  by = 7;
  CHECK(hipGraphExecKernelNodeSetParams(made, second, &launch));
  CHECK(hipGraphLaunch(made, 0));
  CHECK(hipDeviceSynchronize());
  size_t nodes = 0, roots = 0;
  CHECK(hipGraphGetNodes(graph, nullptr, &nodes));
  CHECK(hipGraphGetRootNodes(graph, nullptr, &roots));
  CHECK(hipGraphAddDependencies(graph, &second, &fill, 1));  // a ring
  hipGraphExec_t none;
  right = right && hipGraphInstantiate(&none, graph, nullptr, nullptr, 0) == hipErrorInvalidValue;
  CHECK(hipGraphExecDestroy(made));
  CHECK(hipGraphDestroy(graph));
  return right && host[7] == 105 && nodes == 5 && roots == 2;
}

int main() {
  int *host, *in, *twice, *thrice, *sum;
  hipStream_t streams[2];
  hipEvent_t fork, join;
  hipGraph_t graph;
  hipGraphExec_t made;
  hipStreamCaptureStatus captured;
  const size_t bytes = kCount * sizeof(int);
  CHECK(hipHostMalloc(&host, bytes));
  for (int** memory : {&in, &twice, &thrice, &sum}) CHECK(hipMalloc(memory, bytes));
  for (hipStream_t& stream : streams) CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  CHECK(hipEventCreate(&fork));
  CHECK(hipEventCreate(&join));
  for (int i = 0; i < kCount; i++) host[i] = 0;
  CHECK(hipStreamBeginCapture(streams[0], hipStreamCaptureModeGlobal));
  CHECK(hipMemcpyAsync(in, host, bytes, hipMemcpyHostToDevice, streams[0]));
  CHECK(hipEventRecord(fork, streams[0]));
  CHECK(hipStreamWaitEvent(streams[1], fork, 0));
  scale<<<1, kCount, 0, streams[0]>>>(in + (FAULT == 1), twice, 2);
  scale<<<1, kCount, 0, streams[1]>>>(in, thrice, 3);
  CHECK(hipEventRecord(join, streams[1]));
#if FAULT != 2
  CHECK(hipStreamWaitEvent(streams[0], join, 0));
#endif
  add<<<1, kCount, 0, streams[0]>>>(twice, thrice, sum);
#if FAULT == 2
  CHECK(hipStreamWaitEvent(streams[0], join, 0));
#endif
  CHECK(hipMemcpyAsync(host, sum, bytes, hipMemcpyDeviceToHost, streams[0]));
  CHECK(hipStreamIsCapturing(streams[0], &captured));
  CHECK(hipStreamEndCapture(streams[0], &graph));
  bool right = captured == hipStreamCaptureStatusActive && host[9] == 0;
  CHECK(hipGraphInstantiate(&made, graph, nullptr, nullptr, 0));
  CHECK(hipGraphDestroy(graph));
  for (int run = 1; run <= 3; run++) {
    for (int i = 0; i < kCount; i++) host[i] = i * run;
    (void)hipGraphLaunch(made, streams[0]);
    (void)hipStreamSynchronize(streams[0]);
    for (int i = 0; i < kCount; i++) right = right && host[i] == 5 * i * run;
  }
  (void)hipGraphExecDestroy(made);
#if FAULT == 0
  right = right && by_hand(in, sum, host);
#endif
  for (hipStream_t stream : streams) (void)hipStreamDestroy(stream);
  for (int* memory : {in, twice, thrice, sum}) (void)hipFree(memory);
  (void)hipHostFree(host);
  return verdict(right);
}
