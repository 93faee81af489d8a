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

#if defined(__gfx1100__)  // gfx1151 is told it is this one
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
    F::at(__builtin_amdgcn_workitem_id_x() % kLanes, i, row, col);
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

template <class F, class T>
__device__ void store(T* data, const F& f, unsigned leading, bool by_rows) {
  for (unsigned i = 0; i < F::num_elements; ++i) {
    unsigned row, col;
    F::at(__builtin_amdgcn_workitem_id_x() % kLanes, i, row, col);
    data[by_rows ? row * leading + col : col * leading + row] = f.x[i];
  }
}

template <unsigned M, unsigned N, unsigned K, class T>
__device__ void store_matrix_sync(T* data, const fragment<accumulator, M, N, K, T>& f, unsigned leading, layout_t order) {
  store(data, f, leading, order == mem_row_major);
}

template <class X, unsigned M, unsigned N, unsigned K, class T, class Order>
__device__ void store_matrix_sync(T* data, const fragment<X, M, N, K, T, Order>& f, unsigned leading) {
  store(data, f, leading, same<Order, row_major>::value);
}

template <class X, unsigned M, unsigned N, unsigned K, class T, class Order>
__device__ void fill_fragment(fragment<X, M, N, K, T, Order>& f, T value) {
  for (T& element : f.x) element = value;
}

// One instruction: of CDNA and RDNA 16x16x16, D in f32.
typedef float16_t half4 __attribute__((ext_vector_type(4)));
typedef float16_t half8 __attribute__((ext_vector_type(8)));
typedef float16_t half16 __attribute__((ext_vector_type(16)));
typedef float32_t float4_ __attribute__((ext_vector_type(4)));
typedef float32_t float8_ __attribute__((ext_vector_type(8)));

template <class To, class From> __device__ To bits_of(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "registers of the instruction");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

template <class OrderA, class OrderB>
__device__ void mma_sync(fragment<accumulator, 16, 16, 16, float32_t>& d,
                         const fragment<matrix_a, 16, 16, 16, float16_t, OrderA>& a,
                         const fragment<matrix_b, 16, 16, 16, float16_t, OrderB>& b,
                         const fragment<accumulator, 16, 16, 16, float32_t>& c) {
#if defined(__gfx942__) || defined(__gfx950__)
  const auto sum = __builtin_amdgcn_mfma_f32_16x16x16f16(bits_of<half4>(a.x), bits_of<half4>(b.x),
                                                         bits_of<float4_>(c.x), 0, 0, 0);
#elif defined(__gfx1201__)
  const auto sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(bits_of<half8>(a.x), bits_of<half8>(b.x),
                                                                    bits_of<float8_>(c.x));
#else
  const auto sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(bits_of<half16>(a.x), bits_of<half16>(b.x),
                                                              bits_of<float8_>(c.x));
#endif
  __builtin_memcpy(d.x, &sum, sizeof sum);
}

__device__ inline void synchronize_workgroup() { __builtin_amdgcn_s_barrier(); }

// Cooperative: each wave of a workgroup loads or stores its part of x only; through memory they have all of it.
template <unsigned Waves, class X, unsigned M, unsigned N, unsigned K, class T, class Order>
__device__ void load_matrix_coop_sync(fragment<X, M, N, K, T, Order>& f, const T* data, unsigned leading, unsigned wave) {
  for (unsigned i = 0; i < f.num_elements; ++i) {
    if (i % Waves != wave) continue;
    unsigned row, col;
    f.at(__builtin_amdgcn_workitem_id_x() % kLanes, i, row, col);
    f.x[i] = data[same<Order, row_major>::value ? row * leading + col : col * leading + row];
  }
}

template <unsigned Waves, class X, unsigned M, unsigned N, unsigned K, class T, class Order>
__device__ void store_matrix_coop_sync(T* data, const fragment<X, M, N, K, T, Order>& f, unsigned leading, unsigned wave) {
  for (unsigned i = 0; i < f.num_elements; ++i) {
    if (i % Waves != wave) continue;
    unsigned row, col;
    f.at(__builtin_amdgcn_workitem_id_x() % kLanes, i, row, col);
    data[same<Order, row_major>::value ? row * leading + col : col * leading + row] = f.x[i];
  }
}

// Transforms: registers stay, names change. A in rows is B in columns; the order in memory is but a name.
template <class F> struct transposed;
template <unsigned M, unsigned N, unsigned K, class T> struct transposed<fragment<matrix_a, M, N, K, T, row_major>> {
  typedef fragment<matrix_b, N, M, K, T, col_major> type;
};
template <unsigned M, unsigned N, unsigned K, class T> struct transposed<fragment<matrix_b, M, N, K, T, col_major>> {
  typedef fragment<matrix_a, N, M, K, T, row_major> type;
};
template <class F> __device__ typename transposed<F>::type applyTranspose(const F& f) {
  typename transposed<F>::type to;
  __builtin_memcpy(to.x, f.x, sizeof to.x);
  return to;
}

template <class Order, class X, unsigned M, unsigned N, unsigned K, class T, class Old>
__device__ fragment<X, M, N, K, T, Order> applyDataLayout(const fragment<X, M, N, K, T, Old>& f) {
  fragment<X, M, N, K, T, Order> to;
  __builtin_memcpy(to.x, f.x, sizeof to.x);
  return to;
}
}  // namespace rocwmma
