"""Trigonometric series: right, and the same bits whatever instructions the processor has."""

import os
import subprocess
import sys

import numpy as np
import pytest

from mercer.spaces.series import Harmonics, TrigSeries, cos_sin_pi, exp


def test_cos_sin_and_exp_are_accurate(rng):
    t = np.concatenate([rng.uniform(-50, 50, 20_000), np.arange(-8, 8) / 4])
    cos, sin = cos_sin_pi(t)
    turn = np.pi * np.remainder(t, 2.0)
    assert np.max(np.abs(cos - np.cos(turn))) < 2e-15
    assert np.max(np.abs(sin - np.sin(turn))) < 2e-15
    x = -rng.uniform(0, 60, 20_000)
    assert np.max(np.abs(exp(x) / np.exp(x) - 1)) < 5e-16
    assert exp(np.array([-1e6]))[0] == 0.0


def direct(series, u):
    value = series.coefficients
    tables = [
        np.concatenate(
            [np.cos(np.pi * a.rate * np.outer(np.arange(a.order + 1), x))]
            + ([np.sin(np.pi * a.rate * np.outer(np.arange(1, a.order + 1), x))] if a.sines else [])
        )
        for a, x in zip(series.axes, u.T, strict=True)
    ]
    letters = "abc"[: len(tables)]
    terms = ",".join(f"{letter}n" for letter in letters)
    return np.einsum(f"{letters},{terms}->n", value, *tables)


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("sines", [False, True])
def test_values_grid_and_derivatives(dimension, sines, rng):
    axes = tuple(Harmonics(5 + i, 0.7 + 0.3 * i, sines) for i in range(dimension))
    series = TrigSeries(axes, rng.normal(size=[a.size for a in axes]))
    u = rng.random((50, dimension))
    assert np.allclose(series(u), direct(series, u), atol=1e-12)
    ticks = [rng.random(4) for _ in axes]
    mesh = np.stack(np.meshgrid(*ticks, indexing="ij"), -1)
    assert np.allclose(
        series.grid(ticks), direct(series, mesh.reshape(-1, dimension)).reshape(mesh.shape[:-1])
    )
    step = 1e-5
    for axis in range(dimension):
        shift = np.eye(dimension)[axis] * step
        slope = (direct(series, u + shift) - direct(series, u - shift)) / (2 * step)
        orders = tuple(int(i == axis) for i in range(dimension))
        assert np.allclose(series.derivative(orders)(u), slope, atol=1e-5)


@pytest.mark.parametrize("sines", [False, True])
@pytest.mark.parametrize("order", [31, 32, 33, 39, 40, 333])
def test_long_series_in_one_variable(order, sines, rng):
    axis = Harmonics(order, 0.9, sines)
    series = TrigSeries((axis,), rng.normal(size=axis.size))
    u = np.concatenate([rng.random(60), [0.0, 1.0, 1e-9]])[:, None]
    assert np.allclose(series(u), direct(series, u), atol=1e-9)


def test_long_series_in_two_variables(rng):
    axes = (Harmonics(40, 0.9, sines=True), Harmonics(50, 1.0, sines=False))
    series = TrigSeries(axes, rng.normal(size=[a.size for a in axes]))
    for points in (1, 7):
        u = rng.random((points, 2))
        assert np.allclose(series(u), direct(series, u), atol=1e-8)


PROGRAM = """
import numpy as np, mercer, hashlib
x = (np.arange(5000) * 0.6180339887498949) % 1
digest = hashlib.sha256()
for boundary in ("reflect", "periodic", "open"):
    release = mercer.density(x, bounds=(0, 1), epsilon=1, delta=1e-6, boundary=boundary, rng=5)
    u = np.linspace(0, 1, 997)
    for values in (release(u), release.raw(u), release.derivative(u), release.grid(u)):
        digest.update(values.tobytes())
both = mercer.density(np.stack([x, x[::-1]], 1), bounds=[(0, 1)] * 2, epsilon=1, delta=1e-6, rng=5)
digest.update(both.grid(u[::10], u[::10]).tobytes())
print(digest.hexdigest())
"""


def test_same_bits_without_the_processors_vector_instructions():
    """A stand-in for another machine: NumPy's dispatched loops off, the oldest BLAS on 8 threads."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    enabled = [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]
    if not enabled:
        pytest.skip("this processor has no instruction sets to turn off")
    plain = os.environ | {
        "NPY_DISABLE_CPU_FEATURES": " ".join(enabled),
        "OPENBLAS_CORETYPE": "Prescott",
        "OPENBLAS_NUM_THREADS": "8",
    }
    outputs = [
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", PROGRAM],
            env=env,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for env in (os.environ, plain)
    ]
    assert outputs[0] == outputs[1]
