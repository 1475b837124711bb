"""How the distance of a private mean embedding to the true one falls with N.  M10.

Balog, Tolstikhin and Schoelkopf 2018: Proposition 6 (a share of the rows is public: N^-1/2),
Proposition 5 (landmarks from a fixed distribution: at least N^-1/(D+1+c)) and Proposition 8
(random features: at least N^-1/3).  The rows are of a mixture of three normals in two columns,
whose embedding under the Gaussian kernel is known in closed form.  With random features the
reduced set is no further from the noisy target than the noise is long (proof of Theorem 7), so the
noise itself, the sampling error and Lemma 14's random-feature error are added up.

    python -m studies.balog2018.embedding_rates
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

import mercer
from mercer.promise.events import gaussian_multiplier
from mercer.spaces.landmarks import spread
from mercer.spaces.record_kernels import RecordKernel
from studies.shared.report import COLOURS, Floats, provenance, save, sheet

PROMISE = {"epsilon": 1.0, "delta": 1e-6}
DOMAIN = mercer.Domain({"x": (0.0, 1.0), "y": (0.0, 1.0)})
LENGTH = 0.15
MEANS = np.array([[0.3, 0.3], [0.6, 0.4], [0.5, 0.7]])
SHARES = np.array([0.5, 0.3, 0.2])
SPREAD = 0.06
SIZES = (1000, 3162, 10_000, 31_623, 100_000)
KINDS = {  # label, theoretical slope, colour
    "public": ("Proposition 6: one row in a hundred is public", -1 / 2, COLOURS["ours"]),
    "fixed": ("Proposition 5: landmarks fill the domain, M = N^(1/2)", -1 / 3, COLOURS["mean"]),
    "features": ("Proposition 8: random features, J = 10 N^(2/3)", -1 / 3, COLOURS["paper"]),
}


def rows(n: int, rng: np.random.Generator) -> Floats:
    """Rows of the mixture; next to none are outside the domain."""
    members = rng.choice(3, size=n, p=SHARES)
    return np.clip(MEANS[members] + SPREAD * rng.standard_normal((n, 2)), 0, 1)


def mean_at(z: Floats) -> Floats:
    """The true mean embedding: E k(X, z)."""
    square = LENGTH**2 + SPREAD**2
    return LENGTH**2 / square * np.exp(-cdist(z, MEANS, "sqeuclidean") / (2 * square)) @ SHARES


def squared_length() -> float:
    """Of the true embedding in the kernel's space."""
    square = LENGTH**2 + 2 * SPREAD**2
    gram = LENGTH**2 / square * np.exp(-cdist(MEANS, MEANS, "sqeuclidean") / (2 * square))
    return float(SHARES @ gram @ SHARES)


def by_landmarks(n: int, kind: str, seed: int) -> float:
    """Squared distance of a release to the true embedding."""
    rng = np.random.default_rng([3, n, seed])
    data = rows(n, rng)
    many = max(n // 100, 2) if kind == "public" else round(n**0.5)
    public = data[:many] if kind == "public" else spread(DOMAIN, many)
    made = mercer.synthetic(
        data, domain=DOMAIN, public=public, scale=LENGTH, weights="free", rng=seed, **PROMISE
    )
    w, gram = made.weights, made.kernel(made.codes, made.codes)
    return max(float(w @ gram @ w - 2 * w @ mean_at(made.codes)) + squared_length(), 0.0)


def by_features(n: int, seed: int) -> float:
    """Squared: sampling and noise in the features' space, and Lemma 14's error."""
    rng = np.random.default_rng([5, n, seed])
    kernel = RecordKernel(DOMAIN, "gaussian", (LENGTH, LENGTH))
    pairs = round(5 * n ** (2 / 3))
    w = kernel.frequencies(pairs)
    probe = kernel.embed(rows(200, rng))
    approximate = np.cos((probe[:, None] - probe[None]) @ w.T).mean(axis=2)
    gap = approximate - kernel.between(probe, probe)
    feature = math.sqrt(float(np.abs(gap).mean()))  # of the order of Lemma 14's bound
    noise = gaussian_multiplier(**PROMISE) * 2 / n * math.sqrt(2 * pairs)
    sampling = math.sqrt((1 - squared_length()) / n)
    return (feature + noise + sampling) ** 2


def main() -> None:
    """Slopes and a picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    sizes, runs = (SIZES[:2], 1) if options.quick else (SIZES, 4)
    options.out.mkdir(exist_ok=True, parents=True)
    figure, panels = sheet(1, 1, (6.4, 4.6))
    axes, lines = panels[0, 0], []
    for kind, (label, theory, colour) in KINDS.items():
        found = []
        for n in sizes:
            if kind == "features":
                squares = [by_features(n, seed) for seed in range(runs)]
            else:
                squares = [by_landmarks(n, kind, seed) for seed in range(runs)]
            found.append(math.sqrt(float(np.mean(squares))))
        slope = float(np.polyfit(np.log(sizes), np.log(found), 1)[0])
        axes.loglog(sizes, found, "o-", color=colour, ms=4, label=f"{label}: slope {slope:.2f}")
        shown = " | ".join(f"{value:.4g}" for value in found)
        lines.append(f"| {label} | {shown} | {slope:.2f} | {theory:.2f} |")
    sampling = [math.sqrt((1 - squared_length()) / n) for n in sizes]
    axes.loglog(sizes, sampling, color=COLOURS["sample"], lw=3, zorder=0, label="sampling error")
    axes.set_xlabel("rows N")
    axes.set_ylabel("RKHS distance to the true embedding")
    axes.legend(fontsize=7, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title("epsilon = 1, delta = 1e-6, two columns", loc="left", fontsize=9)
    save(figure, options.out / "embedding_rates.png")
    write(lines, sizes, sampling, options.out / "embedding_rates.md")


def write(lines: list[str], sizes: Any, sampling: list[float], path: Path) -> None:
    """The table."""
    head = " | ".join(f"N = {n:,}" for n in sizes)
    path.write_text(
        "\n".join(
            [
                "# Rates of private mean embeddings",
                "",
                "Root mean squared distance to the true embedding in the kernel's space, epsilon = 1, "
                "delta = 1e-6. The propositions bound the rate from above: a smooth kernel does better "
                "than Proposition 5, whose landmarks need only be near (its proof uses no smoothness).",
                "",
                f"| | {head} | slope | proposition |",
                "|" + "---|" * (len(sizes) + 3),
                *lines,
                "| sampling error alone | " + " | ".join(f"{v:.4g}" for v in sampling) + " | -0.50 | |",
                "",
                provenance(),
                "",
            ]
        )
    )


if __name__ == "__main__":
    main()
