"""Writes the inputs and the expected results of the programs in fixtures/real, as NumPy and SciPy compute them.

    pip install numpy==2.4.6 scipy==1.17.1
    python3 tests/oracle/real.py

The photograph, the CO2 series and the sunspots in fixtures/data are inputs that this script only reads.
"""

from pathlib import Path

import numpy as np
from scipy.special import erf

DATA = Path(__file__).resolve().parents[2] / "fixtures" / "data"


def save(name, array):
    np.save(DATA / f"{name}.npy", np.ascontiguousarray(array))


def tone_map():
    """sRGB decode, luminance, filmic curve (Narkowicz 2016), encode; u8 in, u8 out, f64 between."""
    image = np.load(DATA / "astronaut_u8.npy")
    c = image / 255.0
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    y = 0.2126 * linear[:, :, 0:1] + 0.7152 * linear[:, :, 1:2] + 0.0722 * linear[:, :, 2:3]
    curve = y * (2.51 * y + 0.03) / (y * (2.43 * y + 0.59) + 0.14)
    mapped = np.clip(linear * (curve / np.maximum(y, 1e-6)), 0.0, 1.0)
    encoded = np.where(mapped <= 0.0031308, mapped * 12.92, 1.055 * mapped ** (1 / 2.4) - 0.055)
    save("tone_map_expected", np.rint(encoded * 255.0).astype(np.uint8))


def co2():
    """NaN-aware anomaly and z-score."""
    x = np.load(DATA / "co2_weekly_f64.npy")
    valid = ~np.isnan(x)
    count = np.sum(valid)
    mean = np.sum(np.where(valid, x, 0.0)) / count
    anomaly = x - mean
    variance = np.sum(np.where(valid, anomaly * anomaly, 0.0)) / count
    save("co2_anomaly", anomaly)
    save("co2_zscore", anomaly / np.sqrt(variance))


def black_scholes():
    """Call, put, delta and gamma."""
    rng = np.random.default_rng(1973)
    n = 10_000
    spot = rng.uniform(80.0, 120.0, n)
    strike = rng.uniform(80.0, 120.0, n)
    years = rng.uniform(0.25, 2.0, n)
    rate, vol = 0.03, 0.25
    for name, array in [("spot", spot), ("strike", strike), ("years", years)]:
        save(f"bs_{name}", array)
    root = vol * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * vol * vol) * years) / root
    d2 = d1 - root
    n1 = 0.5 * (1.0 + erf(d1 * 0.7071067811865476))
    n2 = 0.5 * (1.0 + erf(d2 * 0.7071067811865476))
    paid = strike * np.exp(-rate * years)
    save("bs_call", spot * n1 - paid * n2)
    save("bs_put", paid * (1.0 - n2) - spot * (1.0 - n1))
    save("bs_delta", n1)
    save("bs_gamma", np.exp(-0.5 * (d1 * d1)) * 0.3989422804014327 / (spot * root))


def haversine():
    """Distances of n x m points, in km."""
    rng = np.random.default_rng(6371)
    lat1, lat2 = rng.uniform(-60.0, 60.0, 40), rng.uniform(-60.0, 60.0, 30)
    lon1, lon2 = rng.uniform(-180.0, 180.0, 40), rng.uniform(-180.0, 180.0, 30)
    for name, array in [("lat1", lat1), ("lon1", lon1), ("lat2", lat2), ("lon2", lon2)]:
        save(f"haversine_{name}", array)
    p1, p2 = np.deg2rad(lat1)[:, None], np.deg2rad(lat2)
    dp = p2 - p1
    dl = np.deg2rad(lon2) - np.deg2rad(lon1)[:, None]
    a = np.sin(dp * 0.5) ** 2 + np.cos(p1) * np.cos(p2) * np.sin(dl * 0.5) ** 2
    save("haversine_km", 12742.0 * np.arcsin(np.sqrt(a)))


def mandelbrot():
    """Escape counts: how many of 50 steps stay within radius 2."""
    y, x = np.linspace(-1.2, 1.2, 48), np.linspace(-2.1, 0.8, 64)
    c = x[None, :] + 1j * y[:, None]
    save("mandelbrot_c", c)
    z = c * 0.0
    count = np.zeros(c.shape, dtype=np.int64)
    for _ in range(50):
        step = z * z + c
        alive = step.real * step.real + step.imag * step.imag <= 4.0
        count = count + alive
        z = np.where(alive, step, z)
    save("mandelbrot_counts", count)


def networks():
    """GELU, layer norm, softmax."""
    rng = np.random.default_rng(2017)
    x = rng.normal(size=(32, 64))
    save("nn_x", x)
    save("nn_gelu", 0.5 * x * (1.0 + erf(x * 0.7071067811865476)))
    scale, shift = rng.normal(size=64), rng.normal(size=64)
    save("nn_scale", scale)
    save("nn_shift", shift)
    centred = x - np.sum(x, axis=1, keepdims=True) / 64.0
    variance = np.sum(centred * centred, axis=1, keepdims=True) / 64.0
    save("nn_layer_norm", centred / np.sqrt(variance + 1e-5) * scale + shift)
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    save("nn_softmax", e / np.sum(e, axis=1, keepdims=True))


if __name__ == "__main__":
    for program in (tone_map, co2, black_scholes, haversine, mandelbrot, networks):
        program()
