// Convolutions with 7 x 7 weights, for by_loops_c.py. The fastest of three orders of loops counts.
//
// 0: adds rows to a row of the result; 1: one sum for each element, without inner loops; 2: accumulators of
// 32 adjacent elements. With padding, the image is copied into a larger one with a border of zeros first.

#include <stdlib.h>
#include <string.h>

#define NOINLINE static __attribute__((noinline))
#define K 7
#define B 32

NOINLINE void rows(const double *restrict x, const double *restrict k, double *restrict y, long n, long m) {
    long columns = m - K + 1;
    for (long i = 0; i < n - K + 1; i++) {
        double *restrict row = y + i * columns;
        memset(row, 0, columns * sizeof(double));
        for (long a = 0; a < K; a++)
            for (long b = 0; b < K; b++) {
                double w = k[a * K + b];
                const double *restrict from = x + (i + a) * m + b;
                for (long j = 0; j < columns; j++) row[j] += from[j] * w;
            }
    }
}

NOINLINE void sums(const double *restrict x, const double *restrict k, double *restrict y, long n, long m) {
    long columns = m - K + 1;
    for (long i = 0; i < n - K + 1; i++)
        for (long j = 0; j < columns; j++) {
            double sum = 0;
#pragma GCC unroll 7
            for (int a = 0; a < K; a++)
#pragma GCC unroll 7
                for (int b = 0; b < K; b++) sum += x[(i + a) * m + j + b] * k[a * K + b];
            y[i * columns + j] = sum;
        }
}

static inline void block(const double *restrict x, const double *restrict k, double *restrict y, long m) {
    double sum[B] = {0};
    for (long a = 0; a < K; a++)
        for (long b = 0; b < K; b++)
            for (int c = 0; c < B; c++) sum[c] += x[a * m + b + c] * k[a * K + b];
    for (int c = 0; c < B; c++) y[c] = sum[c];
}

// The last block of a row overlaps the one before it, so rows need at least B columns.
NOINLINE void blocks(const double *restrict x, const double *restrict k, double *restrict y, long n, long m) {
    long columns = m - K + 1;
    for (long i = 0; i < n - K + 1; i++) {
        for (long j = 0; j + B <= columns; j += B) block(x + i * m + j, k, y + i * columns + j, m);
        if (columns % B) block(x + (i + 1) * m - B - K + 1, k, y + (i + 1) * columns - B, m);
    }
}

static double *padded(const double *x, long n, long m) {
    long wide = m + K - 1;
    double *to = calloc((n + K - 1) * wide, sizeof(double));
    for (long i = 0; i < n; i++) memcpy(to + (i + K / 2) * wide + K / 2, x + i * m, m * sizeof(double));
    return to;
}

#define ARGUMENTS const double *x, const double *k, double *y, long n, long m, long calls
#define FUNCTIONS(number, order)                     \
    void convolution##number(ARGUMENTS) {            \
        while (calls--) order(x, k, y, n, m);        \
    }                                                \
    void convolution_padded##number(ARGUMENTS) {     \
        while (calls--) {                            \
            double *copy = padded(x, n, m);          \
            order(copy, k, y, n + K - 1, m + K - 1); \
            free(copy);                              \
        }                                            \
    }

FUNCTIONS(0, rows)
FUNCTIONS(1, sums)
FUNCTIONS(2, blocks)
