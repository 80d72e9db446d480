// What somebody who knows the machine writes for one computation: AVX-512 intrinsics, multiplications and additions contracted where they can be, several
// vectors a round where there are no functions, streaming stores if the caller wants them, and the vector functions of the C library (within 4 units in the
// last place). Operands begin at cache lines.

#include <immintrin.h>

#define FUNCTION(name)            \
    __m512d _ZGVeN8v_##name(__m512d); \
    __m512 _ZGVeN16v_##name##f(__m512);
FUNCTION(sin)
FUNCTION(cos)
FUNCTION(exp)
FUNCTION(log)
FUNCTION(tanh)

#define NAME(name) name##_f64
#define OP(name) _mm512_##name##_pd
#define VML(name) _ZGVeN8v_##name
#define T double
#define V __m512d
#define L 8
#define MASK __mmask8
#include "hand.h"

#define NAME(name) name##_f32
#define OP(name) _mm512_##name##_ps
#define VML(name) _ZGVeN16v_##name##f
#define T float
#define V __m512
#define L 16
#define MASK __mmask16
#include "hand.h"
