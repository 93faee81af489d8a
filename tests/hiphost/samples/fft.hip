// A Fourier transform of 128 points in LDS, seven stages with a barrier each; its inverse gives the input back.
#include "sample.h"

constexpr float kPi = 3.14159265f;
constexpr int kPoints = 128, kStages = 7;

__global__ void transform(float2* data, float direction) {
  __shared__ float2 points[kPoints];
  const int lane = threadIdx.x;
  for (int i = lane; i < kPoints; i += kPoints / 2) {
    const int from = __brev(i) >> (32 - kStages);
    points[i] = data[blockIdx.x * kPoints + from];
  }
  __syncthreads();
  for (int half = 1; half < kPoints; half *= 2) {
    const int offset = lane % half, low = lane / half * 2 * half + offset, high = low + half;
    float s, c;
    sincosf(direction * kPi * offset / half, &s, &c);
    const float2 a = points[low], b = points[high];
    const float2 turned = make_float2(b.x * c - b.y * s, b.x * s + b.y * c);
    points[low] = make_float2(a.x + turned.x, a.y + turned.y);
    points[high] = make_float2(a.x - turned.x, a.y - turned.y);
    __syncthreads();
  }
  for (int i = lane; i < kPoints; i += kPoints / 2) data[blockIdx.x * kPoints + i] = points[i];
}

int main() {
  const int count = 2 * kPoints;
  float2 host[count], found[count], *data;
  bool right = true;
  float sum = 0.0f;
  for (int i = 0; i < count; i++) host[i] = make_float2(float(i * i % 9 - 4), float(i % 5 - 2));
  CHECK(hipMalloc(&data, sizeof host));
  CHECK(hipMemcpy(data, host, sizeof host, hipMemcpyHostToDevice));
  transform<<<2, kPoints / 2>>>(data, -1.0f);
  (void)hipMemcpy(found, data, sizeof found, hipMemcpyDeviceToHost);
  for (int i = 0; i < kPoints; i++) sum += found[i].x;
  right = sum - kPoints * host[0].x < 0.01f && kPoints * host[0].x - sum < 0.01f;
  transform<<<2, kPoints / 2>>>(data, 1.0f);
  (void)hipMemcpy(found, data, sizeof found, hipMemcpyDeviceToHost);
  for (int i = 0; i < count; i++) {
    const float dx = found[i].x / kPoints - host[i].x, dy = found[i].y / kPoints - host[i].y;
    right = right && dx * dx + dy * dy < 1e-8f;
  }
  (void)hipFree(data);
  return verdict(right);
}
