// Kernels with one fault each, chosen by name. Every one "passes": the program looks at no result.
#include "host.h"

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
extern "C" hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds = 0, hipStream_t stream = nullptr);
extern "C" hipError_t hipLaunchKernel(const void *, dim3, dim3, void **, size_t, hipStream_t);

enum { N = 128 };

static __device__ int lane() { return __builtin_amdgcn_workitem_id_x(); }
static __device__ int group() { return __builtin_amdgcn_workgroup_id_x(); }
static __device__ void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

__global__ void right(const int *in, int *out) {
  __shared__ int tile[N];
  tile[lane()] = in[lane()];
  barrier();
  out[lane()] = tile[N - 1 - lane()];
}

__global__ void racy(const int *in, int *out) {
  __shared__ int tile[N];
  tile[lane()] = in[lane()];
  out[lane()] = tile[N - 1 - lane()];  // no barrier
}

__global__ void uninitialised(const int *in, int *out) {
  __shared__ int tile[N];
  if (lane() < N / 2) tile[lane()] = in[lane()];
  barrier();
  out[lane()] = tile[N - 1 - lane()];  // half of it was never stored
}

__global__ void astray(const int *in, int *out) {
  out[lane()] = in[lane() + (lane() == N - 1) * 4096];  // the last one: far behind the buffer
}

__global__ void meeting(const int *in, int *out) {
  if (group() == 0) out[lane()] = in[lane()];
  else out[lane()] = in[lane()] + 1;  // both groups store here
}

__global__ void unmet(const int *in, int *out) {
  __shared__ int tile[N];
  tile[lane()] = in[lane()];
  if (__builtin_amdgcn_readfirstlane(lane()) < N / 2) barrier();  // half of the waves
  barrier();
  out[lane()] = tile[N - 1 - lane()];
}

__global__ void colliding(const int *in, int *out) {
  __shared__ int tile[N];
  tile[lane() / 2] = in[lane()];  // two lanes, one place
  barrier();
  out[lane()] = tile[lane() / 2];
}

__global__ void leaders(const int *in, int *out) {
  __shared__ int last;
  if (lane() % 32 == 0) last = in[lane()];  // the first lane of each wave
  barrier();
  out[lane()] = last;
}

__global__ void losing(const int *in, int *out) {
  out[lane() / 4] = in[lane()];  // four lanes, one element
}

__global__ void agreeing(const int *in, int *out) {  // lanes that meet store the same, or one after the other
  __shared__ int last;
  out[lane() / 4] = in[0] + lane() / 4;
  for (int i = 0; i < in[1]; i++)
    if (lane() == i % 32) last = in[i];
  if (lane() < 32) out[32 + lane()] = last;
}

int main(int count, char **words) {
  const char *name = count > 1 ? words[1] : "right";
  int launches = count > 2 ? 3 : 1;
  int in[N], *din, *dout;
  for (int i = 0; i < N; i++) in[i] = i * i + 1;
  CHECK(hipMalloc((void **)&din, sizeof in));
  CHECK(hipMalloc((void **)&dout, sizeof in));
  CHECK(hipMemcpy(din, in, sizeof in, hipMemcpyHostToDevice));
  for (int i = 0; i < launches; i++) {
    if (!strcmp(name, "right")) right<<<1, N>>>(din, dout);
    if (!strcmp(name, "racy")) racy<<<1, N>>>(din, dout);
    if (!strcmp(name, "uninitialised")) uninitialised<<<1, N>>>(din, dout);
    if (!strcmp(name, "astray")) astray<<<1, N>>>(din, dout);
    if (!strcmp(name, "meeting")) meeting<<<2, N>>>(din, dout);
    if (!strcmp(name, "unmet")) unmet<<<1, N>>>(din, dout);
    if (!strcmp(name, "colliding")) colliding<<<1, N>>>(din, dout);
    if (!strcmp(name, "leaders")) leaders<<<1, N>>>(din, dout);
    if (!strcmp(name, "losing")) losing<<<1, N>>>(din, dout);
    if (!strcmp(name, "agreeing")) agreeing<<<1, N>>>(din, dout);
  }
  hipDeviceSynchronize();
  printf("passed\n");
}
