"""numexpr, in place where a result's array is given. Constants are variables of the arrays' dtype, so that f32 stays f32."""

import os

import numexpr
import numpy as np
from memory import empty_like

numexpr.set_num_threads(int(os.environ["PEER_THREADS"]))


def results(values):
    return values if isinstance(values, tuple) else (values,)


def one(expression, out, **names):
    """One expression: evaluated again without being read again."""
    prepare = lambda: numexpr.evaluate(expression, local_dict=names, global_dict={}, out=out, casting="same_kind")
    prepare()
    call = lambda: numexpr.re_evaluate(local_dict=names, global_dict={})
    return call, results, prepare


def several(expression, **names):
    return numexpr.evaluate(expression, local_dict=names, global_dict={})


def axpby(a, b, into):
    v = a.dtype.type
    return one("two * a + three * b", empty_like(a) if into else None, a=a, b=b, two=v(2), three=v(3))


def polynomial(a, b, c, into):
    v = a.dtype.type
    names = dict(a=a, b=b, c=c, half=v(0.5), one=v(1))
    return one("a * b + c * (a - b) * half + one", empty_like(a), **names)


def trigonometry(a, b, into):
    return one("sin(a) * sin(a) + cos(b) * cos(b)", empty_like(a), a=a, b=b)


def exponentials(a, b, into):
    return one("exp(-a * a) * log(one + b)", empty_like(a), a=a, b=b, one=a.dtype.type(1))


def black_scholes(spot, strike, years, rate, vol, into):
    v = spot.dtype.type
    out, d1, d2 = empty_like(spot), empty_like(spot), empty_like(spot)
    k = dict(c=v(0.044715), f=v(0.7978845608028654), one=v(1), half=v(0.5), rate=rate, vol=vol, drift=v(rate + vol * vol / 2))
    evaluate = lambda text, out, **names: numexpr.evaluate(text, local_dict=names | k, global_dict={}, out=out, casting="same_kind")

    def call():
        evaluate("(log(spot / strike) + drift * years) / (vol * sqrt(years))", d1, spot=spot, strike=strike, years=years)
        evaluate("d1 - vol * sqrt(years)", d2, d1=d1, years=years)
        return evaluate(
            "half * (spot * (one + tanh(f * (d1 + c * d1 * d1 * d1)))"
            " - strike * exp(-rate * years) * (one + tanh(f * (d2 + c * d2 * d2 * d2))))",
            out, spot=spot, strike=strike, years=years, d1=d1, d2=d2,
        )

    return call, results


def sum_x_log_yt(x, y, into):
    return one("sum(x * log(y))", None, x=x, y=y.T)


def mean_variance(x, into):
    n = x.dtype.type(x.size)

    def call():
        mean = x.dtype.type(several("sum(x)", x=x) / n)
        return mean, several("sum((x - mean) * (x - mean))", x=x, mean=mean) / n

    return call, results


def softmax(x, into):
    out = empty_like(x)

    def call():
        top = several("max(x, axis=1)", x=x)[:, None]
        numexpr.evaluate("exp(x - top)", local_dict=dict(x=x, top=top), global_dict={}, out=out)
        total = several("sum(e, axis=1)", e=out)[:, None]
        return numexpr.evaluate("e / total", local_dict=dict(e=out, total=total), global_dict={}, out=out)

    return call, results


def logsumexp(x, into):
    def call():
        top = x.dtype.type(several("max(x)", x=x))
        return np.log(several("sum(exp(x - top))", x=x, top=top)) + top

    return call, results


def distances(x, y, into):
    def call():
        return np.sqrt(several("sum((u - v) * (u - v), axis=2)", u=x[:, None], v=y[None]))

    return call, results
