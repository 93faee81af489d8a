// One step of bodies that attract each other, in tiles of LDS; every type of vector arithmetic.
#include "sample.h"

#include <cmath>

constexpr int kBodies = 128, kTile = 64;

__global__ void accelerate(const float4* bodies, float3* out) {
  __shared__ float4 tile[kTile];
  const float4 self = bodies[blockIdx.x * kTile + threadIdx.x];
  float3 sum = make_float3(0.0f, 0.0f, 0.0f);
  for (int first = 0; first < kBodies; first += kTile) {
#if FAULT == 1
    tile[threadIdx.x] = bodies[first + threadIdx.x + 1];  // fault 1: memory/load-out-of-bounds
#else
    tile[threadIdx.x] = bodies[first + threadIdx.x];  // fault 2: races/write-after-read
#endif
    __syncthreads();
    for (int i = 0; i < kTile; i++) {
      const float4 other = tile[i];
      const float3 apart = make_float3(other.x - self.x, other.y - self.y, other.z - self.z);
      const float square = apart.x * apart.x + apart.y * apart.y + apart.z * apart.z + 0.01f;
      const float inverse = rsqrtf(square);
      sum += apart * (other.w * inverse * inverse * inverse);
    }
#if FAULT != 2
    __syncthreads();
#endif
  }
  out[blockIdx.x * kTile + threadIdx.x] = sum;
}

int main() {
  static float4 host[kBodies];
  static float3 found[kBodies];
  float4* bodies;
  float3* out;
  bool right = true;
  for (int i = 0; i < kBodies; i++) host[i] = make_float4(i % 7, i * i % 11, i * 3 % 13, 1.0f + i % 3);
  CHECK(hipMalloc(&bodies, sizeof host));
  CHECK(hipMalloc(&out, sizeof found));
  CHECK(hipMemcpy(bodies, host, sizeof host, hipMemcpyHostToDevice));
  accelerate<<<kBodies / kTile, kTile>>>(bodies, out);
  (void)hipMemcpy(found, out, sizeof found, hipMemcpyDeviceToHost);
  for (int i = 0; i < kBodies; i++) {
    double sum = 0.0, scale = 1.0;
    for (int j = 0; j < kBodies; j++) {
      const double x = host[j].x - host[i].x, y = host[j].y - host[i].y, z = host[j].z - host[i].z;
      const double term = host[j].w * x / std::pow(x * x + y * y + z * z + 0.01, 1.5);
      sum += term, scale += std::fabs(term);
    }
    right = right && std::fabs(sum - found[i].x) < 1e-5 * scale;
  }
  (void)hipFree(bodies);
  (void)hipFree(out);
  return verdict(right);
}
