// a & b | ~c of packed bools, one after the other, without branches.

#include <stdint.h>

static uint64_t get(const uint64_t *words, long i) { return words[i >> 6] >> (i & 63) & 1; }

static void put(uint64_t *words, long i, uint64_t bit) {
    words[i >> 6] = (words[i >> 6] & ~((uint64_t)1 << (i & 63))) | bit << (i & 63);
}

void by_bit(long n, const uint64_t *restrict a, const uint64_t *restrict b, const uint64_t *restrict c, uint64_t *restrict out) {
    for (long i = 0; i < n; i++) put(out, i, (get(a, i) & get(b, i)) | (get(c, i) ^ 1));
}
