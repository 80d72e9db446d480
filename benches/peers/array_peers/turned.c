// x + y and x + y.T of n by n matrices by vectors of eight, stored past the caches: n is a multiple of eight, and `out` begins at a cache line.

#if defined(__AVX512F__)
#include <immintrin.h>

void straight(long n, const double *x, const double *y, double *out) {
    for (long i = 0; i < n * n; i += 8)
        _mm512_stream_pd(out + i, _mm512_add_pd(_mm512_loadu_pd(x + i), _mm512_loadu_pd(y + i)));
}

// Eight rows become eight columns.
static inline void turn(__m512d *r) {
    __m512d s[8], t[8];
    for (int k = 0; k < 8; k += 2) {
        s[k] = _mm512_unpacklo_pd(r[k], r[k + 1]);
        s[k + 1] = _mm512_unpackhi_pd(r[k], r[k + 1]);
    }
    for (int k = 0; k < 8; k += 4)
        for (int odd = 0; odd < 2; odd++) {
            t[k + odd] = _mm512_shuffle_f64x2(s[k + odd], s[k + 2 + odd], 0x88);
            t[k + 2 + odd] = _mm512_shuffle_f64x2(s[k + odd], s[k + 2 + odd], 0xdd);
        }
    for (int k = 0; k < 4; k++) {
        r[k] = _mm512_shuffle_f64x2(t[k], t[k + 4], 0x88);
        r[k + 4] = _mm512_shuffle_f64x2(t[k], t[k + 4], 0xdd);
    }
}

void transposed(long n, long rows, long columns, const double *x, const double *y, double *out) {
    for (long top = 0; top < n; top += rows)
        for (long left = 0; left < n; left += columns)
            for (long i = top; i < top + rows && i < n; i += 8)
                for (long j = left; j < left + columns && j < n; j += 8) {
                    __m512d r[8];
                    for (long k = 0; k < 8; k++) r[k] = _mm512_loadu_pd(y + (j + k) * n + i);
                    turn(r);
                    for (long k = 0; k < 8; k++) {
                        long at = (i + k) * n + j;
                        _mm512_stream_pd(out + at, _mm512_add_pd(_mm512_loadu_pd(x + at), r[k]));
                    }
                }
}
#else
void straight(long n, const double *x, const double *y, double *out) {
    for (long i = 0; i < n * n; i++) out[i] = x[i] + y[i];
}

void transposed(long n, long rows, long columns, const double *x, const double *y, double *out) {
    for (long top = 0; top < n; top += rows)
        for (long left = 0; left < n; left += columns)
            for (long i = top; i < top + rows && i < n; i++)
                for (long j = left; j < left + columns && j < n; j++) out[i * n + j] = x[i * n + j] + y[j * n + i];
}
#endif
