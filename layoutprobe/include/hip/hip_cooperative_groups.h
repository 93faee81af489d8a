// Cooperative groups: the threads of a block, tiles of a wave, lanes that are at one place together, and the grid.
#pragma once
#include <hip/hip_runtime.h>

#if defined(__HIP__)
#define LAYOUTPROBE_METHOD __device__ __attribute__((always_inline, nodebug))

namespace cooperative_groups {

// What the groups share: a number of threads, and the caller's own among them.
class thread_group {
 public:
  LAYOUTPROBE_METHOD unsigned size() const { return count_; }
  LAYOUTPROBE_METHOD unsigned num_threads() const { return count_; }
  LAYOUTPROBE_METHOD unsigned thread_rank() const { return rank_; }
  LAYOUTPROBE_METHOD bool is_valid() const { return count_ > 0; }
  LAYOUTPROBE_METHOD void sync() const {
    if (whole_block_)
      __syncthreads();
    else
      __syncwarp();
  }

 protected:
  LAYOUTPROBE_METHOD thread_group(unsigned count, unsigned rank, bool whole_block)
      : count_(count), rank_(rank), whole_block_(whole_block) {}
  friend LAYOUTPROBE_METHOD thread_group tiled_partition(const thread_group& parent, unsigned size);
  unsigned count_, rank_;
  bool whole_block_;
};

class thread_block : public thread_group {
 public:
  static LAYOUTPROBE_METHOD unsigned rank() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  }
  static LAYOUTPROBE_METHOD unsigned threads() { return blockDim.x * blockDim.y * blockDim.z; }
  LAYOUTPROBE_METHOD thread_block() : thread_group(threads(), rank(), true) {}
  static LAYOUTPROBE_METHOD void sync() { __syncthreads(); }
  static LAYOUTPROBE_METHOD dim3 group_index() { return blockIdx; }
  static LAYOUTPROBE_METHOD dim3 thread_index() { return threadIdx; }
  static LAYOUTPROBE_METHOD dim3 group_dim() { return blockDim; }
  static LAYOUTPROBE_METHOD dim3 dim_threads() { return blockDim; }
};
LAYOUTPROBE_DEVICE thread_block this_thread_block() { return {}; }

// A part of a wave of fixed size: a power of two, no larger than a wave.
template <unsigned kSize, typename Parent = void>
class thread_block_tile : public thread_group {
  static_assert(kSize > 0 && (kSize & (kSize - 1)) == 0 && kSize <= unsigned(warpSize),
                "a tile has as many threads as a power of two, and no more than a wave");

 public:
  explicit LAYOUTPROBE_METHOD thread_block_tile(const thread_group& parent)
      : thread_group(kSize, parent.thread_rank() % kSize, false), tile_(parent.thread_rank() / kSize),
        tiles_((parent.size() + kSize - 1) / kSize) {}
  // Its parent may be forgotten: thread_block_tile<32> tile = tiled_partition<32>(block).
  template <typename Other>
  LAYOUTPROBE_METHOD thread_block_tile(const thread_block_tile<kSize, Other>& tile)
      : thread_group(tile), tile_(tile.meta_group_rank()), tiles_(tile.meta_group_size()) {}
  LAYOUTPROBE_METHOD unsigned meta_group_rank() const { return tile_; }
  LAYOUTPROBE_METHOD unsigned meta_group_size() const { return tiles_; }
  static LAYOUTPROBE_METHOD void sync() { __syncwarp(); }
  template <typename T>
  LAYOUTPROBE_METHOD T shfl(T value, int lane) const { return __shfl(value, lane, kSize); }
  template <typename T>
  LAYOUTPROBE_METHOD T shfl_up(T value, unsigned delta) const { return __shfl_up(value, delta, kSize); }
  template <typename T>
  LAYOUTPROBE_METHOD T shfl_down(T value, unsigned delta) const { return __shfl_down(value, delta, kSize); }
  template <typename T>
  LAYOUTPROBE_METHOD T shfl_xor(T value, int mask) const { return __shfl_xor(value, mask, kSize); }
  LAYOUTPROBE_METHOD unsigned long long ballot(int predicate) const {
    const unsigned first = __lane_id() / kSize * kSize;
    const unsigned long long mine = kSize == 64 ? ~0ull : (1ull << (kSize % 64)) - 1;
    return __ballot(predicate) >> first & mine;
  }
  LAYOUTPROBE_METHOD int any(int predicate) const { return ballot(predicate) != 0; }
  LAYOUTPROBE_METHOD int all(int predicate) const { return ballot(!predicate) == 0; }

 private:
  unsigned tile_, tiles_;
};
template <unsigned kSize, typename Parent>
LAYOUTPROBE_DEVICE thread_block_tile<kSize, Parent> tiled_partition(const Parent& parent) {
  return thread_block_tile<kSize, Parent>(parent);
}
__device__ __attribute__((always_inline, nodebug)) inline thread_group tiled_partition(const thread_group& parent,
                                                                                      unsigned size) {
  return {size, parent.thread_rank() % size, false};
}

// The lanes that come here together.
class coalesced_group : public thread_group {
 public:
  explicit LAYOUTPROBE_METHOD coalesced_group(unsigned long long lanes)
      : thread_group(__popcll(lanes), __popcll(lanes & ((1ull << __lane_id()) - 1)), false), lanes_(lanes) {}
  static LAYOUTPROBE_METHOD void sync() { __syncwarp(); }
  template <typename T>
  LAYOUTPROBE_METHOD T shfl(T value, unsigned rank) const { return layoutprobe_read_lane(value, lane_of(rank)); }
  template <typename T>
  LAYOUTPROBE_METHOD T shfl_down(T value, unsigned delta) const {
    return shfl(value, rank_ + delta < count_ ? rank_ + delta : rank_);
  }
  template <typename T>
  LAYOUTPROBE_METHOD T shfl_up(T value, unsigned delta) const {
    return shfl(value, rank_ >= delta ? rank_ - delta : rank_);
  }
  LAYOUTPROBE_METHOD int any(int predicate) const { return (__ballot(predicate) & lanes_) != 0; }
  LAYOUTPROBE_METHOD int all(int predicate) const { return (__ballot(!predicate) & lanes_) == 0; }

 private:
  LAYOUTPROBE_METHOD int lane_of(unsigned rank) const {
    unsigned long long left = lanes_;
    for (; rank; --rank) left &= left - 1;
    return __ffsll((long long)left) - 1;
  }
  unsigned long long lanes_;
};
LAYOUTPROBE_DEVICE coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

// All blocks of a launch, which are there at once. The barrier's state is a pair of words for each source file.
class grid_group : public thread_group {
 public:
  LAYOUTPROBE_METHOD grid_group()
      : thread_group(thread_block::threads() * num_blocks(), block_rank() * thread_block::threads() + thread_block::rank(),
                     false) {}
  static LAYOUTPROBE_METHOD unsigned num_blocks() { return gridDim.x * gridDim.y * gridDim.z; }
  static LAYOUTPROBE_METHOD unsigned block_rank() {
    return (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  static LAYOUTPROBE_METHOD dim3 group_dim() { return gridDim; }
  LAYOUTPROBE_METHOD void sync() const {
    static __device__ unsigned arrived, passed;
    __syncthreads();
    if (thread_block::rank() == 0) {
      const unsigned before = __hip_atomic_load(&passed, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
      if (__hip_atomic_fetch_add(&arrived, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT) == num_blocks() - 1) {
        __hip_atomic_store(&arrived, 0u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        __hip_atomic_fetch_add(&passed, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
      } else {
        while (__hip_atomic_load(&passed, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == before) {
        }
      }
    }
    __syncthreads();
  }
};
LAYOUTPROBE_DEVICE grid_group this_grid() { return {}; }

template <typename Group>
LAYOUTPROBE_DEVICE void sync(const Group& group) {
  group.sync();
}

}  // namespace cooperative_groups
#undef LAYOUTPROBE_METHOD
#endif
