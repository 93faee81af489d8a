// The PV stage of probes/gemm/cdna with the fault that docs/tr8.md tells of: the reads XOR the rows of V in another
// order than the stores do.
#include "pv.h"

__device__ inline Received read_astray(const char* lds) {
  Received raw;
#pragma unroll
  for (int block = 0; block < BLOCKS; ++block)
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
      const int row = permuted(row_named<8>(part));
      raw.pair[block][part] =
          read_transposed<8>(&lds[swizzled(row, block * I::DIM + byte_named<8>()) ^ (row & 1) << 5]);
    }
  return raw;
}

#define read_tile read_astray
#include "pv.hip"
