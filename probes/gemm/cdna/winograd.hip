// Convolution with 3 x 3 filters as Winograd F(6,3), all in one kernel: input transform, products, output transform.
//
// Strategy A of the design note (docs/winograd-f63.md). A tile is 6 x 6 outputs, of 8 x 8 inputs; both transforms
// have one lane for each of the 64 positions, and exchange rows and columns between lanes. A workgroup makes 16
// output channels of 16 tiles: for each position a product [16 channels out x C] * [C x 16 tiles], 16 channels in at
// a time, by v_mfma_f32_16x16x16_f16. Each of its four waves has 16 positions, for the output transform needs all
// 64 of them: 64 accumulators a lane, which are exchanged through LDS.
//
// y = scale * conv(x), valid: x is [C][H][W] with H = 6 * tiles_y + 2 and W = 6 * tiles_x + 2, y is [K][H-2][W-2].
// U holds the filters, transformed beforehand: G g G^T of each, [64 positions][K][C].
//
// grid: (tiles_y*tiles_x+15)/16, (K+15)/16  block: 256
#include "mfma_helpers.h"

constexpr int GRID = 8, POSITIONS = GRID * GRID, OUT = 6, STEP = 16, WAVES = 4, OF_WAVE = POSITIONS / WAVES;
constexpr int V_HALVES = POSITIONS * STEP * STEP;  // 32 KiB
typedef Vector<_Float16, 4> Operand;
typedef Vector<float, 4> Sum;

// Lavin and Gray, arXiv 1509.09308, for the points 0, 1, -1, 2, -2, 1/2, -1/2 and infinity.
constexpr __device__ float INPUT[GRID][GRID] = {
    {1, 0, -5.25f, 0, 5.25f, 0, -1, 0},       {0, 1, 1, -4.25f, -4.25f, 1, 1, 0},
    {0, -1, 1, 4.25f, -4.25f, -1, 1, 0},      {0, 0.5f, 0.25f, -2.5f, -1.25f, 2, 1, 0},
    {0, -0.5f, 0.25f, 2.5f, -1.25f, -2, 1, 0}, {0, 2, 4, -2.5f, -5, 0.5f, 1, 0},
    {0, -2, 4, 2.5f, -5, -0.5f, 1, 0},        {0, -1, 0, 5.25f, 0, -5.25f, 0, 1},
};
constexpr __device__ float OUTPUT[GRID][GRID] = {
    // two rows more than there are outputs, for the lanes that make none
    {1, 1, 1, 1, 1, 1, 1, 0},
    {0, 1, -1, 2, -2, 0.5f, -0.5f, 0},
    {0, 1, 1, 4, 4, 0.25f, 0.25f, 0},
    {0, 1, -1, 8, -8, 0.125f, -0.125f, 0},
    {0, 1, 1, 16, 16, 0.0625f, 0.0625f, 0},
    {0, 1, -1, 32, -32, 0.03125f, -0.03125f, 1},
};

// T x T^T for the 8 x 8 matrix x of which each lane has element (lane / 8, lane % 8).
__device__ inline float transform(const float (&t_row)[GRID], const float (&t_col)[GRID], float x) {
  const int lane = lane_id();
  float half = 0, whole = 0;
#pragma unroll
  for (int i = 0; i < GRID; ++i) half += t_row[i] * __shfl(x, i * GRID + lane % GRID);
#pragma unroll
  for (int i = 0; i < GRID; ++i) whole += t_col[i] * __shfl(half, lane / GRID * GRID + i);
  return whole;
}

__device__ inline void load_rows(const float (&t)[GRID][GRID], float (&row)[GRID], float (&col)[GRID]) {
#pragma unroll
  for (int i = 0; i < GRID; ++i) row[i] = t[lane_id() / GRID][i], col[i] = t[lane_id() % GRID][i];
}

// Where in LDS 4 channels of a tile lie at a position: XOR spreads lanes over the banks, whichever of the two runs
// along the lanes.
__device__ inline int v_index(int position, int tile, int channel) {
  return position * STEP * STEP + ((channel / 4 * STEP + tile) ^ position) * 4 + channel % 4;
}
__device__ inline int m_index(int position, int pair) { return position * POSITIONS + (pair ^ position); }

extern "C" __global__ void __launch_bounds__(WAVES * WAVE)
winograd_f63(const _Float16* __restrict__ x, const _Float16* __restrict__ U, float* __restrict__ y, int C, int K,
             int tiles_y, int tiles_x, float scale)
{
  __shared__ alignas(16) char lds[2 * V_HALVES];
  _Float16* v = (_Float16*)lds;  // [position][tile][channel]
  float* m = (float*)lds;        // [position][channel out / 4][tile], a quarter of the channels at a time
  const int lane = lane_id(), wave = wave_id();
  const int first_tile = blockIdx.x * STEP, first_out = blockIdx.y * STEP;
  const int height = OUT * tiles_y + 2, width = OUT * tiles_x + 2, tiles = tiles_y * tiles_x;

  float t_row[GRID], t_col[GRID];
  load_rows(INPUT, t_row, t_col);
  Sum sums[OF_WAVE] = {};
  int c0 = 0;
  do {  // there is a channel
    // Each wave transforms the patches of four channels.
#pragma unroll 1
    for (int i = 0; i < STEP * STEP / WAVES; ++i) {
      const int local = i % STEP, tile = first_tile + local, in_step = wave * 4 + i / STEP, channel = c0 + in_step;
      float patch = 0;
      if (tile < tiles && channel < C) {
        const int row = tile / tiles_x * OUT + lane / GRID, col = tile % tiles_x * OUT + lane % GRID;
        patch = (float)x[((size_t)channel * height + row) * width + col];
      }
      v[v_index(lane, local, in_step)] = (_Float16)transform(t_row, t_col, patch);
    }
    __syncthreads();
    const int out = first_out + lane % STEP, channel = lane / STEP * 4;
#pragma unroll
    for (int p = 0; p < OF_WAVE; ++p) {
      const int position = wave * OF_WAVE + p;
      const _Float16* filters = U + (size_t)position * K * C;  // the same for all lanes
      Operand filter = {};
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (out < K && c0 + channel + e < C) filter[e] = filters[(unsigned)(out * C + c0 + channel + e)];
      const Operand patch = *(const Operand*)&v[v_index(position, lane % STEP, channel)];
      sums[p] = __builtin_amdgcn_mfma_f32_16x16x16f16(filter, patch, sums[p], 0, 0, 0);
    }
    __syncthreads();
    c0 += STEP;
  } while (c0 < C);

  load_rows(OUTPUT, t_row, t_col);
  // Slot s of a lane is channel 4 * (lane / 16) + s of tile lane % 16.
#pragma unroll
  for (int s = 0; s < 4; ++s) {
#pragma unroll
    for (int p = 0; p < OF_WAVE; ++p) m[m_index(wave * OF_WAVE + p, lane)] = sums[p][s];
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < POSITIONS / WAVES; ++i) {
      const int pair = wave * OF_WAVE + i, out = first_out + pair / STEP * 4 + s, tile = first_tile + pair % STEP;
      const float result = scale * transform(t_row, t_col, m[m_index(lane, pair)]);
      const int row = tile / tiles_x * OUT + lane / GRID, col = tile % tiles_x * OUT + lane % GRID;
      if (tile < tiles && out < K && lane / GRID < OUT && lane % GRID < OUT)
        y[((size_t)out * (height - 2) + row) * (width - 2) + col] = result;
    }
    __syncthreads();
  }
}
