#include <hip/hip_runtime.h>
#define TILE 16
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
#define A(i, j) A[(i) + (j) * lda]
#define B(i, j) B[(i) + (j) * ldb]
#define C(i, j) C[(i) + (j) * ldc]
#define LOAD(S, X, r, c, R, CC) S[threadIdx.y][threadIdx.x] = ((r) < (R) && (c) < (CC)) ? X((r), (c)) : 0.0
#define FMA(acc, x, y) acc += (x) * (y)

/* column-major, as BLAS has it:  C := alpha*A*B + beta*C  */
__global__ void dgemm_nn(int m, int n, int k, double alpha, const double *A, int lda, const double *B, int ldb,
                         double beta, double *C, int ldc)
{
    __shared__ double As[TILE][TILE + 1], Bs[TILE][TILE + 1];
    const int i = blockIdx.x * TILE + threadIdx.y, j = blockIdx.y * TILE + threadIdx.x;
    double acc = 0.0;
    for (int l = 0; l < k; l += TILE) {
        LOAD(As, A, i, l + threadIdx.x, m, k);
        LOAD(Bs, B, l + threadIdx.y, j, k, n);
        __syncthreads();
        for (int p = 0; p < TILE; ++p) FMA(acc, As[threadIdx.y][p], Bs[p][threadIdx.x]);
        __syncthreads();
    }
    if (i < m && j < n) C(i, j) = alpha * acc + beta * C(i, j);
}

void my_dgemm(int m, int n, int k, double alpha, const double *dA, int lda, const double *dB, int ldb, double beta,
              double *dC, int ldc)
{
    dim3 threads(TILE, TILE);
    dim3 grid(CEIL_DIV(m, TILE), CEIL_DIV(n, TILE));
    dgemm_nn<<<grid, threads>>>(m, n, k, alpha, dA, lda, dB, ldb, beta, dC, ldc);
}
