// The computations for one dtype, which `hand.c` says.

// A vector of the result, of one of each input and of the scalars.

static inline V NAME(axpby_of)(const V *x, const T *k) {
    return OP(fmadd)(OP(set1)(2), x[0], OP(mul)(OP(set1)(3), x[1]));
}

static inline V NAME(polynomial_of)(const V *x, const T *k) {
    V bend = OP(mul)(OP(mul)(x[2], OP(sub)(x[0], x[1])), OP(set1)(0.5));
    return OP(add)(OP(fmadd)(x[0], x[1], bend), OP(set1)(1));
}

static inline V NAME(trigonometry_of)(const V *x, const T *k) {
    V s = VML(sin)(x[0]), c = VML(cos)(x[1]);
    return OP(fmadd)(s, s, OP(mul)(c, c));
}

static inline V NAME(exponentials_of)(const V *x, const T *k) {
    V e = VML(exp)(OP(fnmadd)(x[0], x[0], OP(set1)(0)));
    return OP(mul)(e, VML(log)(OP(add)(OP(set1)(1), x[1])));
}

static inline V NAME(normal)(V d) {
    V half = OP(set1)(0.5), inner = OP(fmadd)(OP(mul)(OP(set1)(0.044715), OP(mul)(d, d)), d, d);
    return OP(fmadd)(half, VML(tanh)(OP(mul)(OP(set1)(0.7978845608028654), inner)), half);
}

static inline V NAME(black_scholes_of)(const V *x, const T *k) {
    T rate = k[0], volatility = k[1];
    V spot = x[0], strike = x[1], years = x[2], root = OP(mul)(OP(set1)(volatility), OP(sqrt)(years));
    V moved = OP(fmadd)(OP(set1)(rate + volatility * volatility / 2), years, VML(log)(OP(div)(spot, strike)));
    V d1 = OP(div)(moved, root), d2 = OP(sub)(d1, root);
    V paid = OP(mul)(strike, VML(exp)(OP(mul)(OP(set1)(-rate), years)));
    return OP(fmsub)(spot, NAME(normal)(d1), OP(mul)(paid, NAME(normal)(d2)));
}

// All points: so many vectors a round, and the last points under a mask.
static inline __attribute__((always_inline)) void NAME(loop)(
    V (*of)(const V *, const T *), int inputs, int vectors, long n, const T *const *from, const T *k, T *restrict out, int stream) {
    const T *in[3];
    for (int j = 0; j < inputs; j++) in[j] = from[j];
    V x[3];
    long i = 0;
    for (; i + vectors * L <= n; i += vectors * L) {
        for (int v = 0; v < vectors; v++) {
            for (int j = 0; j < inputs; j++) x[j] = OP(load)(in[j] + i + v * L);
            if (stream) OP(stream)(out + i + v * L, of(x, k));
            else OP(store)(out + i + v * L, of(x, k));
        }
    }
    for (; i < n; i += L) {
        MASK some = n - i < L ? (1u << (n - i)) - 1 : (MASK)~0;
        for (int j = 0; j < inputs; j++) x[j] = OP(maskz_loadu)(some, in[j] + i);
        OP(mask_storeu)(out + i, some, of(x, k));
    }
    if (stream) _mm_sfence();
}

#define COMPUTATION(name, inputs, vectors)                                                              \
    void NAME(name)(long n, const T *const *from, const T *k, T *out, int stream) {                    \
        if (stream) NAME(loop)(NAME(name##_of), inputs, vectors, n, from, k, out, 1);                  \
        else NAME(loop)(NAME(name##_of), inputs, vectors, n, from, k, out, 0);                         \
    }
COMPUTATION(axpby, 2, 4)
COMPUTATION(polynomial, 3, 4)
COMPUTATION(trigonometry, 2, 1)
COMPUTATION(exponentials, 2, 1)
COMPUTATION(black_scholes, 3, 1)

#undef COMPUTATION
#undef NAME
#undef OP
#undef VML
#undef T
#undef V
#undef L
#undef MASK
