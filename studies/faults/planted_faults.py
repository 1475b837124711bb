"""Are faults found?  Each known way to break a promise, planted, and what catches it.

For every fault the same check is run on Mercer's own code, where it must find nothing.  Audits
are Clopper-Pearson lower bounds on epsilon at confidence 1 - 1e-9; replays are exact.

    python -m studies.faults.planted_faults
    python -m studies.faults.planted_faults --quick --out FOLDER
"""

from __future__ import annotations

import argparse
import math
import platform
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta, norm

import mercer
from mercer.audits.audit import CASES, audit, epsilon_lower_bound
from mercer.audits.replay import replay
from mercer.common import streams
from mercer.noise import entropy
from mercer.noise.laws import uniform_moments
from mercer.noise.mechanisms import Gaussian, Laplace, Mechanism
from mercer.promise.events import Sensitivity, gaussian_log_delta
from studies.shared.report import Floats

CONFIDENCE = 1 - 1e-9  # of every bound: none is above the truth but once in 10^9 runs


@dataclass(frozen=True)
class Finding:
    """One planted fault: what was found with it, and without."""

    fault: str
    check: str
    claim: str
    with_fault: str
    without: str
    caught: bool  # with the fault the check says broken, without it says kept


class Weaker(Mechanism, by_name=False):
    """A mechanism whose noise is a share of what it ought to be."""

    def __init__(self, sound: Mechanism, share: float) -> None:
        self.sound, self.share = sound, share
        self.name, self.norm, self.pure = sound.name, sound.norm, sound.pure  # type: ignore[misc]

    @property
    def words(self) -> str:
        return self.sound.words

    def multiplier(self, size: int, *, epsilon: float, delta: float) -> float:
        return self.share * self.sound.multiplier(size, epsilon=epsilon, delta=delta)

    def event(self, *, epsilon: float, delta: float) -> Any:
        return self.sound.event(epsilon=epsilon, delta=delta)

    def calibrate(self, sensitivity: Sensitivity, size: int, **promise: Any) -> Any:
        noise: Any = self.sound.calibrate(sensitivity, size, **promise)
        law = replace(noise.law, scale=noise.law.scale * self.share)
        return replace(noise, law=law)


def too_little_noise(name: str, share: float = 0.8) -> Finding:
    sound, delta = CASES[name]
    assert isinstance(sound, Mechanism)
    claim: dict[str, Any] = {"epsilon": 1.0, "delta": delta or None, "confidence": CONFIDENCE}
    good = audit(sound, **claim)
    from mercer.audits.audit import worst_pair

    pair = worst_pair(sound, None, epsilon=1.0, delta=delta)
    bad = audit(
        Weaker(sound, share), (pair.one, pair.two), statistic=pair.statistic, samples=pair.samples, **claim
    )
    promise = "epsilon 1" + (f", delta {delta:g}" if delta else ", pure")
    return Finding(
        f"{name}: noise x {share:g}",
        "audit",
        promise,
        f"epsilon >= {bad.audited:.3f}",
        f"epsilon >= {good.audited:.3f}",
        not bad.kept and good.kept,
    )


def one_sided_orbitope(runs: int, degree: int = 8) -> Finding:
    """E5: K-norm noise of a body that is not symmetric, with Delta = 2/n."""
    rng = streams.fresh(None)
    s = 2.0  # n epsilon = 1
    k = np.arange(1, degree + 1)
    # reflecting: u = 0 and the point where the Toeplitz vectors are orthogonal
    one, two = np.ones(degree), np.cos(math.pi * k * 2 * round((degree + 1) / 2) / (degree + 1))
    draws = uniform_moments(degree, 2 * runs, rng, real=True).T
    draws *= rng.gamma(degree + 1, s, (2 * runs, 1))

    def ratio(z: Floats) -> Floats:
        return gauges(z - two) - gauges(z - one)

    bad = epsilon_lower_bound(
        ratio(one + draws[:runs]), ratio(two + draws[runs:]), delta=0.0, confidence=CONFIDENCE
    )
    good = audit("orbitope", epsilon=1.0, confidence=CONFIDENCE)
    return Finding(
        f"orbitope: one-sided, Delta = 2/n, m = {degree} (E5)",
        "audit",
        "epsilon 1, pure",
        f"epsilon >= {bad:.3f}",
        f"epsilon >= {good.audited:.3f}",
        bad > 1 and good.kept,
    )


def gauges(z: Floats) -> Floats:
    """-lambda_min of Toeplitz(0, z) for each row of z."""
    m = z.shape[1]
    place = np.abs(np.subtract.outer(np.arange(m + 1), np.arange(m + 1)))
    padded = np.concatenate([np.zeros((len(z), 1)), z], axis=1)
    parts = np.array_split(padded, 1 + len(z) // 20_000)
    return np.concatenate([-np.linalg.eigvalsh(part[:, place])[:, 0] for part in parts])


def thesis_laplace(runs: int, degree: int = 2, n: int = 50) -> Finding:
    """E6: scale m/(n epsilon), without the bound 2 sqrt2 of each pair of functions."""
    rng = streams.fresh(None)
    j = np.arange(1, degree + 1)
    one, two = (
        np.concatenate([np.cos(2 * np.pi * j * u), np.sin(2 * np.pi * j * u)]) / n for u in (0.125, 0.625)
    )
    wrong = degree / n

    def bound(scale: float) -> float:
        z = [rng.laplace(scale=scale, size=(runs, 2 * degree)) + c for c in (one, two)]
        ratio = [np.sum(np.abs(y - two) - np.abs(y - one), axis=1) for y in z]
        return epsilon_lower_bound(*ratio, delta=0.0, confidence=CONFIDENCE)

    right = Laplace().calibrate(Sensitivity(2 * math.sqrt(2) * degree / n, "l1"), 2 * degree, epsilon=1.0)
    bad, good = bound(wrong), bound(right.law.scale)
    return Finding(
        "Laplace: the thesis' scale (E6)",
        "audit",
        "epsilon 1, pure",
        f"epsilon >= {bad:.3f}",
        f"epsilon >= {good:.3f}",
        bad > 1 >= good,
    )


def classic_at_sixteen(runs: int) -> Finding:
    """E1: sqrt(2 ln(2/delta))/epsilon at epsilon 16, delta 1e-6.

    Events this rare are not counted; but mu is, and the trade-off curve of a normal law follows
    from it.
    """
    epsilon, delta = 16.0, 1e-6
    rng = streams.fresh(None)

    def true_delta(sigma: float) -> float:
        hits = [int(np.sum(rng.standard_normal(runs) * sigma + c > 0.5)) for c in (1.0, 0.0)]
        low = beta.ppf(5e-10, hits[0], runs - hits[0] + 1)
        high = beta.isf(5e-10, hits[1] + 1, runs - hits[1])
        mu = float(norm.ppf(low) - norm.ppf(high))
        return math.exp(gaussian_log_delta(mu, epsilon=epsilon))

    bad = true_delta(math.sqrt(2 * math.log(2 / delta)) / epsilon)
    good = true_delta(Gaussian().multiplier(1, epsilon=epsilon, delta=delta))
    return Finding(
        "Gaussian: classic calibration at epsilon 16 (E1)",
        "audit of mu",
        "delta 1e-6",
        f"delta >= {bad:.2g}",
        f"delta >= {good:.2g}",
        bad > delta >= good,
    )


def replayed(
    fault: str, faulty: Callable[..., Any], sound: Callable[..., Any], pair: tuple[Any, Any]
) -> Finding:
    bad, good = replay(faulty, pair), replay(sound, pair)

    def words(result: Any) -> str:
        said = [f"{c.what} moved {c.measured:.3g} of {c.declared:.3g}" for c in result.changes]
        said += ["other noise"] * (not result.same_noise) + ["other path"] * (not result.same_path)
        said += ["other end"] * (not result.same_end)
        return "; ".join(said)

    return Finding(fault, "replay", "within the bound", words(bad), words(good), not bad.kept and good.kept)


def data_dependent_bounds() -> Finding:
    rest = np.linspace(0.2, 0.8, 50)

    def faulty(data: Floats, rng: Any) -> Any:
        return mercer.density(data, bounds=(0.0, float(data.max())), epsilon=1, rng=rng)

    def sound(data: Floats, rng: Any) -> Any:
        return mercer.density(data, bounds=(0.0, 1.0), epsilon=1, rng=rng)

    return replayed("bounds read from the data", faulty, sound, (np.append(rest, 0.9), np.append(rest, 3.0)))


def bandwidth_from_the_data() -> Finding:
    rest = np.linspace(0.45, 0.55, 50)

    def faulty(data: Floats, rng: Any) -> Any:
        return mercer.density(
            data, bounds=(0, 1), bandwidth=float(data.std()), epsilon=1, delta=1e-6, rng=rng
        )

    def sound(data: Floats, rng: Any) -> Any:
        return mercer.density(data, bounds=(0, 1), bandwidth="rule", epsilon=1, delta=1e-6, rng=rng)

    return replayed(
        "bandwidth read from the data", faulty, sound, (np.append(rest, 0.5), np.append(rest, 1.0))
    )


def clipped_likelihood() -> Finding:
    """M12: replacing one record moves the leave-one-out scores of all its neighbours."""
    h, low, high = 0.01, -4.0, 4.0
    others = np.array([0.48, 0.52, 0.05, 0.95])
    candidates = np.array([h, 2 * h, 4 * h])

    def scores(data: Floats) -> Floats:
        out = []
        for width in candidates:
            k = norm.pdf((data[:, None] - data) / width) / width
            np.fill_diagonal(k, 0.0)
            with np.errstate(divide="ignore"):
                out.append(np.clip(np.log(k.sum(axis=1) / (data.size - 1)), low, high).sum())
        return np.array(out)

    def faulty(data: Floats, rng: Any) -> Any:
        return mercer.select(candidates, scores(data), sensitivity=high - low, epsilon=1, n=5, rng=rng)

    def sound(data: Floats, rng: Any) -> Any:
        from mercer.api.choose import cv_bandwidth

        return cv_bandwidth(data, bounds=(0, 1), epsilon=1, rng=rng)

    pair = (np.append(others, 0.5), np.append(others, 0.2))
    return replayed("clipped leave-one-out likelihood as a score", faulty, sound, pair)


def floating_sum(rows: int) -> Finding:
    """M3.3: one value 1 -> 0 moves the sequential sum of many doubles by more than one.

    Half the rows are 1.  With the odd row the sum lies above a power of two, where a small negative
    value is half a unit in the last place and vanishes; without it, below, where none is lost.
    """
    half = rows // 2
    tiny = -half * 2.0**-53

    def moved(total: Callable[[Floats], float]) -> float:
        data = np.concatenate([np.ones(half), [1.0], np.full(half - 1, tiny)])
        first = total(data)
        data[half] = 0.0
        return first - total(data)

    bad = moved(lambda data: float(np.add.accumulate(data)[-1]))
    scale = 2.0**36  # whole numbers of 2^-36, towards zero: they add up exactly
    good = moved(lambda data: int(np.sum(np.trunc(data * scale).astype(np.int64))) / scale)
    return Finding(
        f"a floating-point sum of {rows:,} rows",
        "replay",
        "moves by 1 at most",
        f"moves by 1 + {bad - 1:.2g}",
        f"moves by 1 + {good - 1:.2g}",
        bad > 1 >= good,
    )


def repeated_noise() -> Finding:
    """The same noise twice: the difference of two releases is the difference of the data."""
    one, two = np.zeros(3), np.array([1.0, 0.0, 0.0])
    noise = Laplace().calibrate(Sensitivity(1.0, "l1"), 3, epsilon=1.0)

    def guess(sources: Callable[[], Any], runs: int = 400) -> float:
        """Lower bound on the epsilon of telling which of two releases had the other record."""
        seen = []
        for pair in ((one, two), (one, one)):
            out = []
            for _ in range(runs):
                source = sources()
                first = noise.add(pair[0], source() if callable(source) else source)
                again = noise.add(pair[1], source() if callable(source) else source)
                out.append(float(np.abs(first - again).sum() > 1e-3))
            seen.append(np.array(out))
        return epsilon_lower_bound(*seen, delta=0.0, confidence=CONFIDENCE)

    counter = iter(range(10**9))

    def same() -> Any:
        seed = next(counter)
        return lambda: entropy.Seeded(seed)  # the fault: a fresh start for each release

    bad, good = guess(same), guess(entropy.Secure)
    return Finding(
        "noise repeated in two releases",
        "audit",
        "epsilon 1 for the second",
        f"epsilon >= {bad:.3f}",
        f"epsilon >= {good:.3f}",
        bad > 1 >= good,
    )


def float_noise(runs: int) -> Finding:
    """Float noise on float values: 0 + z keeps bits of z that 1 + z has lost."""
    rng = streams.fresh(None)
    noise = Laplace().calibrate(Sensitivity(1.0, "l1"), runs, epsilon=1.0)

    def share_of_fine(values: Floats) -> Floats:
        small = np.abs(values) < 0.5
        fine = values * 2.0**53 != np.rint(values * 2.0**53)
        return (small & fine).astype(float)

    z = rng.laplace(size=(2, runs))
    bad = epsilon_lower_bound(
        share_of_fine(0.0 + z[0]), share_of_fine(1.0 + z[1]), delta=0.0, confidence=CONFIDENCE
    )
    source = entropy.Seeded(rng)
    ours = [share_of_fine(noise.add(np.full(runs, c), source)) for c in (0.0, 1.0)]
    good = epsilon_lower_bound(*ours, delta=0.0, confidence=CONFIDENCE)
    return Finding(
        "float noise without the lattice",
        "audit of low bits",
        "epsilon 1, pure",
        f"epsilon >= {bad:.3f}",
        f"epsilon >= {good:.3f}",
        bad > 1 >= good,
    )


def faults(quick: bool) -> list[Finding]:
    runs = 40_000 if quick else 200_000
    names = ("gaussian", "laplace", "geometric", "l2", "orbitope")
    return [
        *(too_little_noise(name) for name in names),
        one_sided_orbitope(runs),
        thesis_laplace(runs),
        classic_at_sixteen(2_000_000),
        data_dependent_bounds(),
        bandwidth_from_the_data(),
        clipped_likelihood(),
        floating_sum(1 << (21 if quick else 24)),
        repeated_noise(),
        float_noise(runs),
    ]


def audits(quick: bool) -> str:
    """Every mechanism on its worst neighbours, as `mercer audit --all` prints it."""
    rows = [
        "| mechanism | claimed | delta | audited | of the claim | runs | seconds | verdict |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for name, (subject, delta) in CASES.items():
        r = audit(
            subject,
            epsilon=1.0,
            delta=delta or None,
            samples=20_000 if quick else None,
            name=name,
            confidence=CONFIDENCE,
        )
        rows.append(
            f"| {r.name} | {r.epsilon:g} | {r.delta:g} | {r.audited:.3f} | {r.reach:.0%} | "
            f"{r.samples:,} | {r.seconds:.1f} | {r.verdict} |"
        )
    return "\n".join(rows)


def table(found: list[Finding]) -> str:
    rows = [
        "| fault | check | claim | with the fault | Mercer's own | caught |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    rows += [
        f"| {f.fault} | {f.check} | {f.claim} | {f.with_fault} | {f.without} | "
        f"{'yes' if f.caught else '**NO**'} |"
        for f in found
    ]
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    found = faults(options.quick)
    options.out.mkdir(parents=True, exist_ok=True)
    text = (
        "# Planted faults\n\nEvery known way to break a promise, planted on purpose, and what the "
        "checks of this library say\nof it and of Mercer's code. Audits: lower bounds on epsilon "
        "at confidence 1 - 1e-9.\n\n" + table(found) + f"\n\nmercer {mercer.__version__}, "
        f"python {platform.python_version()}, numpy {np.__version__}.\n"
    )
    text += (
        "\n# Audits\n\nEvery mechanism on its worst neighbours (`mercer audit --all`): lower "
        "bounds on epsilon.\n\n" + audits(options.quick) + "\n"
    )
    (options.out / "planted_faults.md").write_text(text, encoding="utf-8")
    print(table(found))
    if not all(f.caught for f in found):
        raise SystemExit("a planted fault was not caught")


if __name__ == "__main__":
    main()
