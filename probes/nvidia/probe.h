// What the probes for NVIDIA cards share. NVRTC compiles them, with no header of CUDA's.
#pragma once

typedef unsigned short u16;
typedef unsigned int u32;

constexpr int kLanes = 32;

struct alignas(16) u32x4 {
  u32 x, y, z, w;
};

// Shared-memory address of a generic pointer, as PTX instructions take it.
__device__ inline u32 shared_address(const void* pointer) {
  u32 address;
  asm("{ .reg .u64 wide; cvta.to.shared.u64 wide, %1; cvt.u32.u64 %0, wide; }"
      : "=r"(address)
      : "l"(pointer));
  return address;
}

// Raw registers of one operand to out[wave][vgpr][lane].
template <int Count>
__device__ inline void dump(u32* out, int wave, int lane, const u32 (&registers)[Count]) {
#pragma unroll
  for (int v = 0; v < Count; ++v) out[(wave * Count + v) * kLanes + lane] = registers[v];
}

// The inverse: raw registers from in[wave][vgpr][lane].
template <int Count>
__device__ inline void undump(const u32* in, int wave, int lane, u32 (&registers)[Count]) {
#pragma unroll
  for (int v = 0; v < Count; ++v) registers[v] = in[(wave * Count + v) * kLanes + lane];
}
