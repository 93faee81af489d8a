#include <hip/hip_runtime.h>

struct Job {
  const int *in;
  int *out;
  int factor;
};

__device__ int counter[4] = {5, 6, 7, 8};
__constant__ int table[32];

// Arguments of all sizes, so that a wrong offset of any of them shows.
extern "C" __global__ void mixed(signed char a, int *out, short b, double c, unsigned char d, int e) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = i * 1000 + a + 10 * b + (int)(c * 4) + 3 * d + e;
}

// Pointers that lie inside of a structure in memory, and a structure by value.
extern "C" __global__ void scale(const Job *jobs, Job last, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Job job = blockIdx.y < gridDim.y - 1 ? jobs[blockIdx.y] : last;
  job.out[i] = job.in[i] * job.factor;
}

extern "C" __global__ void count(int *out) {
  out[threadIdx.x] = counter[threadIdx.x % 4] + table[threadIdx.x];
  if (threadIdx.x == 0) counter[1] += 100;
}

extern "C" __global__ void out_of_bounds(int *out, int n) { out[threadIdx.x * n] = 1; }

extern "C" __global__ void reverse(int *data) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

// Writes no third word, and of the last one the low half only.
extern "C" __global__ void partial(unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 63) reinterpret_cast<unsigned short *>(out)[2 * i] = 7;
  else if (i != 2) out[i] = i * i;
}
