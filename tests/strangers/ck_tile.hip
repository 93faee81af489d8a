// device op in the manner of composable_kernel
#include <hip/hip_runtime.h>
#include <type_traits>
#include <utility>
#include <cstdint>

using index_t = int32_t;
template <index_t... Is> struct Sequence {
  static constexpr index_t size() { return sizeof...(Is); }
  static constexpr index_t at(index_t i) { constexpr index_t v[] = {Is...}; return v[i]; }
};
template <index_t N> using Number = std::integral_constant<index_t, N>;
template <typename F, std::size_t... Is>
__host__ __device__ constexpr void static_for_impl(F&& f, std::index_sequence<Is...>) { (f(Number<(index_t)Is>{}), ...); }
template <index_t N, typename F> __host__ __device__ constexpr void static_for(F&& f) { static_for_impl(static_cast<F&&>(f), std::make_index_sequence<N>{}); }

namespace tensor_layout { struct RowMajor {}; struct ColumnMajor {}; }
struct PassThrough { template <class Y, class X> __device__ void operator()(Y& y, const X& x) const { y = (Y)x; } };
struct AddSwish {
  template <class Y> __device__ void operator()(Y& y, const float& c, const float& d) const {
    float x = c + d;
    y = (Y)(x / (1.0f + __expf(-x)));
  }
};
typedef _Float16 half16_t __attribute__((ext_vector_type(16)));
typedef _Float16 half8_t __attribute__((ext_vector_type(8)));
typedef float float8_t __attribute__((ext_vector_type(8)));

template <class BlockTile_, class WaveLayout_, class ALayout_, class BLayout_, class EpilogueOp_>
struct GemmPolicy {
  using BlockTile = BlockTile_; using WaveLayout = WaveLayout_;
  using ALayout = ALayout_; using BLayout = BLayout_; using EpilogueOp = EpilogueOp_;
  static constexpr index_t kM = BlockTile::at(0), kN = BlockTile::at(1), kK = BlockTile::at(2);
  static constexpr index_t kWavesM = WaveLayout::at(0), kWavesN = WaveLayout::at(1);
  static constexpr index_t kBlockSize = 32 * kWavesM * kWavesN;
  static constexpr index_t kPad = 8;
  static constexpr index_t kMRepeat = kM / (16 * kWavesM), kNRepeat = kN / (16 * kWavesN);
};
template <class Policy> struct GemmKernel {
  struct Kargs { const void* a_ptr; const void* b_ptr; const void* bias_ptr; void* e_ptr; index_t M, N, K; index_t stride_A, stride_B, stride_E; };
  static __host__ Kargs MakeKargs(const void* a, const void* b, const void* d, void* e, index_t M, index_t N, index_t K, index_t sa, index_t sb, index_t se) {
    return Kargs{a, b, d, e, M, N, K, sa, sb, se};
  }
  static constexpr __host__ dim3 GridSize(index_t M, index_t N) { return dim3((N + Policy::kN - 1) / Policy::kN, (M + Policy::kM - 1) / Policy::kM, 1); }
  static constexpr __host__ dim3 BlockSize() { return dim3(Policy::kBlockSize); }

  template <class Layout> static __device__ _Float16 fetch(const _Float16* p, index_t r, index_t k, index_t R, index_t K, index_t stride) {
    if (r >= R || k >= K) return (_Float16)0;
    if constexpr (std::is_same_v<Layout, tensor_layout::RowMajor>) return p[(int64_t)r * stride + k];
    else return p[(int64_t)k * stride + r];
  }
  __device__ void operator()(Kargs kargs) const {
    __shared__ _Float16 smem[(Policy::kM + Policy::kN) * (Policy::kK + Policy::kPad)];
    constexpr index_t ld = Policy::kK + Policy::kPad;
    _Float16* as = smem; _Float16* bs = smem + Policy::kM * ld;
    const index_t i_m = blockIdx.y * Policy::kM, i_n = blockIdx.x * Policy::kN;
    const index_t lane = threadIdx.x % 32, wave = threadIdx.x / 32;
    const index_t wm = wave / Policy::kWavesN, wn = wave % Policy::kWavesN;
    float8_t acc[Policy::kMRepeat][Policy::kNRepeat] = {};
    for (index_t k0 = 0; k0 < kargs.K; k0 += Policy::kK) {
      for (index_t i = threadIdx.x; i < Policy::kM * Policy::kK; i += Policy::kBlockSize) {
        const index_t r = i / Policy::kK, k = i % Policy::kK;
        as[r * ld + k] = fetch<typename Policy::ALayout>((const _Float16*)kargs.a_ptr, i_m + r, k0 + k, kargs.M, kargs.K, kargs.stride_A);
      }
      for (index_t i = threadIdx.x; i < Policy::kN * Policy::kK; i += Policy::kBlockSize) {
        const index_t r = i / Policy::kK, k = i % Policy::kK;
        using BL = std::conditional_t<std::is_same_v<typename Policy::BLayout, tensor_layout::ColumnMajor>, tensor_layout::RowMajor, tensor_layout::ColumnMajor>;
        bs[r * ld + k] = fetch<BL>((const _Float16*)kargs.b_ptr, i_n + r, k0 + k, kargs.N, kargs.K, kargs.stride_B);
      }
      __syncthreads();
      static_for<Policy::kK / 16>([&](auto kk) {
        half16_t a[Policy::kMRepeat], b[Policy::kNRepeat];
        static_for<Policy::kMRepeat>([&](auto i) {
          const _Float16* p = as + ((wm * Policy::kMRepeat + i) * 16 + lane % 16) * ld + kk * 16;
          half8_t lo = *(const half8_t*)p, hi = *(const half8_t*)(p + 8);
          a[i] = __builtin_shufflevector(lo, hi, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        });
        static_for<Policy::kNRepeat>([&](auto i) {
          const _Float16* p = bs + ((wn * Policy::kNRepeat + i) * 16 + lane % 16) * ld + kk * 16;
          half8_t lo = *(const half8_t*)p, hi = *(const half8_t*)(p + 8);
          b[i] = __builtin_shufflevector(lo, hi, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        });
        static_for<Policy::kMRepeat>([&](auto i) {
          static_for<Policy::kNRepeat>([&](auto j) { acc[i][j] = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a[i], b[j], acc[i][j]); });
        });
      });
      __syncthreads();
    }
    typename Policy::EpilogueOp op;
    for (index_t i = 0; i < Policy::kMRepeat; i++)
      for (index_t j = 0; j < Policy::kNRepeat; j++)
        for (index_t v = 0; v < 8; v++) {
          const index_t m = i_m + (wm * Policy::kMRepeat + i) * 16 + 2 * v + lane / 16;
          const index_t n = i_n + (wn * Policy::kNRepeat + j) * 16 + lane % 16;
          if (m < kargs.M && n < kargs.N)
            op(((_Float16*)kargs.e_ptr)[(int64_t)m * kargs.stride_E + n], acc[i][j][v], (float)((const _Float16*)kargs.bias_ptr)[n]);
        }
  }
};
template <index_t MaxThreadPerBlock, index_t MinBlockPerCu, class Kernel, class... Args>
__launch_bounds__(MaxThreadPerBlock, MinBlockPerCu) __global__ void kentry(Args... args) { Kernel{}(args...); }

template <class Kernel, class Kargs> float launch_kernel(hipStream_t stream, Kargs kargs) {
  kentry<128, 2, Kernel><<<Kernel::GridSize(kargs.M, kargs.N), Kernel::BlockSize(), 0, stream>>>(kargs);
  return 0.f;
}
float gemm_bias_swish(const void* a, const void* b, const void* bias, void* e, int M, int N, int K, hipStream_t stream) {
  using Policy = GemmPolicy<Sequence<64, 64, 32>, Sequence<2, 2>, tensor_layout::RowMajor, tensor_layout::ColumnMajor, AddSwish>;
  using Kernel = GemmKernel<Policy>;
  auto kargs = Kernel::MakeKargs(a, b, bias, e, M, N, K, K, K, N);
  return launch_kernel<Kernel>(stream, kargs);
}
