// GEMM in the manner of CUTLASS: tile iterators, a mainloop, an epilogue functor; D = relu(A B + residual).
#include <hip/hip_runtime.h>
#include <cstdint>

namespace arch {
using bf16_t = __bf16;
using FragmentOperand = int16_t __attribute__((ext_vector_type(16)));
using FragmentAccumulator = float __attribute__((ext_vector_type(8)));
}  // namespace arch

template <int M_, int N_, int K_>
struct GemmShape {
  static constexpr int kM = M_, kN = N_, kK = K_;
};

template <typename Element, int Rows, int Columns, int Threads>
class PredicatedTileIterator {
 public:
  struct Params {
    int64_t stride;
    int rows, columns;
  };
  __device__ PredicatedTileIterator(Params const& params, Element const* pointer, int thread, int row, int column)
      : params_(params), pointer_(pointer), thread_(thread), row_(row), column_(column) {}
  __device__ Element at(int index) const {
    const int r = row_ + index / Columns, c = column_ + index % Columns;
    return r < params_.rows && c < params_.columns ? pointer_[r * params_.stride + c] : Element(0);
  }
  template <typename Shared>
  __device__ void store_to(Shared* shared) const {
#pragma unroll
    for (int i = thread_; i < Rows * Columns; i += Threads) shared[i] = at(i);
  }
  __device__ void add_tile_offset(int rows, int columns) { row_ += rows * Rows, column_ += columns * Columns; }

 private:
  Params params_;
  Element const* pointer_;
  int thread_, row_, column_;
};

struct LinearCombinationRelu {
  __device__ float operator()(float accumulator, float source) const { return fmaxf(accumulator + source, 0.f); }
};

struct Arguments {
  int m, n, k;
  arch::bf16_t const* ptr_A;
  int64_t lda;
  arch::bf16_t const* ptr_B;
  int64_t ldb;
  arch::bf16_t const* ptr_C;
  int64_t ldc;
  float* ptr_D;
  int64_t ldd;
};

template <typename Shape, typename Epilogue>
struct Gemm {
  static constexpr int kThreads = Shape::kN / 16 * 32;
  using IteratorA = PredicatedTileIterator<arch::bf16_t, Shape::kM, Shape::kK, kThreads>;
  using IteratorB = PredicatedTileIterator<arch::bf16_t, Shape::kK, Shape::kN, kThreads>;
  struct SharedStorage {
    arch::bf16_t a[Shape::kM * Shape::kK];
    arch::bf16_t b[Shape::kK * Shape::kN];
  };
  __device__ void operator()(Arguments const& args, SharedStorage& shared) {
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    IteratorA iterator_a({args.lda, args.m, args.k}, args.ptr_A, thread, blockIdx.y * Shape::kM, 0);
    IteratorB iterator_b({args.ldb, args.k, args.n}, args.ptr_B, thread, 0, blockIdx.x * Shape::kN);
    arch::FragmentAccumulator accumulator = {};
    for (int iteration = (args.k + Shape::kK - 1) / Shape::kK; iteration > 0; --iteration) {
      iterator_a.store_to(shared.a);
      iterator_b.store_to(shared.b);
      iterator_a.add_tile_offset(0, 1);
      iterator_b.add_tile_offset(1, 0);
      __syncthreads();
      arch::FragmentOperand a, b;
      for (int i = 0; i < 16; ++i) {
        a[i] = __builtin_bit_cast(int16_t, shared.a[(lane % 16) * Shape::kK + i]);
        b[i] = __builtin_bit_cast(int16_t, shared.b[i * Shape::kN + warp * 16 + lane % 16]);
      }
      accumulator = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, accumulator);
      __syncthreads();
    }
    Epilogue epilogue;
    const int column = blockIdx.x * Shape::kN + warp * 16 + lane % 16;
    for (int i = 0; i < 8; ++i) {
      const int row = blockIdx.y * Shape::kM + 2 * i + lane / 16;
      if (row < args.m && column < args.n)
        args.ptr_D[row * args.ldd + column] = epilogue(accumulator[i], (float)args.ptr_C[row * args.ldc + column]);
    }
  }
};

template <typename Operator>
__global__ void Kernel(Arguments args) {
  __shared__ typename Operator::SharedStorage shared;
  Operator op;
  op(args, shared);
}

using GemmOperator = Gemm<GemmShape<16, 64, 16>, LinearCombinationRelu>;

hipError_t gemm_relu(int m, int n, int k, arch::bf16_t const* A, arch::bf16_t const* B, arch::bf16_t const* C, float* D,
                     hipStream_t stream) {
  Arguments args{m, n, k, A, k, B, n, C, n, D, n};
  dim3 grid((n + 63) / 64, (m + 15) / 16, 1);
  dim3 block(GemmOperator::kThreads, 1, 1);
  Kernel<GemmOperator><<<grid, block, 0, stream>>>(args);
  return hipGetLastError();
}
