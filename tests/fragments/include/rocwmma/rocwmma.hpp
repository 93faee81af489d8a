// A library with the interface of rocWMMA's fragments, written for the tests. Its layouts are its own:
//   A and B: lane l holds line l % M, and k in runs of `kRun` dealt to the groups of lanes (MFMA), or all of
//   them in every group (WMMA of RDNA3); C: rows in runs of four (MFMA), or as RDNA3 and RDNA4 have them.
// With WRONG_RUN the k are dealt one by one, which is no operand of an instruction up to K's names; with SHIFTED
// the rows of A are rotated, which is no operand at all.
#pragma once

namespace rocwmma {
typedef _Float16 float16_t;
typedef __bf16 bfloat16_t;
typedef float float32_t;
typedef double float64_t;
typedef signed char int8_t;
typedef int int32_t;

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };

template <class Matrix, unsigned M, unsigned N, unsigned K, class T, class Order = void>
struct fragment;

#if __AMDGCN_WAVEFRONT_SIZE == 64
constexpr unsigned kLanes = 64;
#else
constexpr unsigned kLanes = 32;
#endif

template <class A, class B>
struct same { static constexpr bool value = false; };
template <class A>
struct same<A, A> { static constexpr bool value = true; };

#if defined(__gfx1100__)
constexpr bool kReplicated = true;
#else
constexpr bool kReplicated = false;
#endif

template <class Matrix, unsigned M, unsigned N, unsigned K, class T, class Order>
struct fragment {
  static constexpr bool kOfC = same<Matrix, accumulator>::value, kOfB = same<Matrix, matrix_b>::value;
  static constexpr unsigned kLines = kOfC || kOfB ? N : M, kDepth = kOfC ? M : K;
  static constexpr unsigned kGroups = kReplicated && !kOfC ? 1 : kLanes / kLines;
  static constexpr unsigned num_elements = kDepth / kGroups;
  T x[num_elements];

  // Row and column of x[i].
  static __device__ void at(unsigned lane, unsigned i, unsigned& row, unsigned& col) {
    const unsigned line = lane % kLines, group = lane / kLines % kGroups;
    if (kOfC) {
#if defined(__gfx1100__)
      row = kGroups * i + group;
#elif defined(__gfx1201__)
      row = num_elements * group + i;
#else
      row = 4 * kGroups * (i / 4) + 4 * group + i % 4;
#endif
      col = line;
      return;
    }
#if defined(WRONG_RUN)
    const unsigned k = i * kGroups + group;
#else
    const unsigned k = num_elements * group + i;
#endif
#if defined(SHIFTED)
    const unsigned shifted = (line + 1) % kLines;
#else
    const unsigned shifted = line;
#endif
    row = kOfB ? k : shifted;
    col = kOfB ? shifted : k;
  }
};

template <class F, class T>
__device__ void load(F& f, const T* data, unsigned leading, bool by_rows) {
  for (unsigned i = 0; i < F::num_elements; ++i) {
    unsigned row, col;
    F::at(__builtin_amdgcn_workitem_id_x(), i, row, col);
    f.x[i] = data[by_rows ? row * leading + col : col * leading + row];
  }
}

template <class X, unsigned M, unsigned N, unsigned K, class T, class Order>
__device__ void load_matrix_sync(fragment<X, M, N, K, T, Order>& f, const T* data, unsigned leading) {
  load(f, data, leading, same<Order, row_major>::value);
}

template <class X, unsigned M, unsigned N, unsigned K, class T>
__device__ void load_matrix_sync(fragment<X, M, N, K, T>& f, const T* data, unsigned leading, layout_t order) {
  load(f, data, leading, order == mem_row_major);
}
}  // namespace rocwmma
