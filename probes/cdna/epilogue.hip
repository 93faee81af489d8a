// Epilogue: coded accumulators pass through a real MFMA, dense, scaled or sparse, and are stored the ordinary way.
//
// A = B = 0, so D = C: whatever accumulator slot held a code, the place where the code ends up in the output
// matrix is where the epilogue believes that slot belongs. Of several blocks each is stored to its own place on
// the diagonal of the wave's tile.
#include "cdna/mfma.h"

template <int Bits> struct Stored { typedef u32 type; };
template <> struct Stored<64> { typedef unsigned long long type; };
typedef Stored<RESULT_BITS>::type Out;

extern "C" __global__ void __block__(kThreads)
epilogue(const u32* acc,  // [wave][vgpr][lane]
         Out* C)          // [kWaves * kRows][kCols]: wave w stores rows [w * kRows, ...)
{
  const int thread = thread_id(), wave = thread / kLanes, lane = thread % kLanes;
  const Result c = undump_words<Result>(acc, wave, lane);
  const Result d = multiply(OperandA{}, OperandB{}, c);

  union { Result all; Out each[kSlots]; } value = {d};
#pragma unroll
  for (int slot = 0; slot < kSlots; ++slot) {
    const int block = block_of(lane, slot);
    const int row = wave * kRows + block * kM + row_of(lane, slot), col = block * kN + col_of(lane);
    C[row * kCols + col] = value.each[slot];
  }
}
