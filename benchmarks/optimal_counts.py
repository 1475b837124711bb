"""What does the best mechanism for a count cost, beside the program as the thesis states it?

`mercer.optimal_count`, with the rounding to whole numbers, the check of every ratio and the dual
bound, beside SciPy's HiGHS on the program of thesis 1.3.5 and 2.3.3, every coefficient written
down in a dense matrix.  OpenDP, diffprivlib and SmartNoise have no such mechanism to compare with.
"""  # noqa: D400

from __future__ import annotations

from time import perf_counter

import numpy as np
from scipy.optimize import linprog

from common import options, race, report, table, verdict
from mercer.noise.entropy import Secure
from mercer.noise.optimal import OptimalCount
from mercer.noise.programs import optimal_count

NOTE = """\
Seconds, the least of {repeats} after a warm-up (the dense program at n = 70: one run).  Absolute
loss, no prior (minimax), but for two columns: *any loss* is one that costs twice as much above the
count as below, for which the whole program is solved, sparse; *prior* is the Bayes mechanism under
a uniform prior.  *Draw*: microseconds for one answer.  The dense program returns doubles, which
keep the ratios only up to the solver's tolerance; ours are exact.  OpenDP, diffprivlib and
SmartNoise have no mechanism of this kind."""


def dense(n: int, epsilon: float) -> float:
    """Minimise t: the thesis' constraints one by one, as rows of a dense matrix."""
    m = n + 1
    steps = np.zeros((2 * n * m, m * m + 1))
    at = 0
    for j in range(n):
        for i in range(m):
            here, there = j * m + i, (j + 1) * m + i
            steps[at, [here, there]] = 1, -np.exp(epsilon)
            steps[at + 1, [there, here]] = 1, -np.exp(epsilon)
            at += 2
    risks, sums = np.zeros((m, m * m + 1)), np.zeros((m, m * m + 1))
    risks[:, -1] = -1
    for j in range(m):
        risks[j, j * m : j * m + m] = np.abs(np.arange(m) - j)
        sums[j, j * m : j * m + m] = 1
    upper = np.vstack([steps, risks])
    goal = np.append(np.zeros(m * m), 1.0)
    found = linprog(goal, upper, np.zeros(len(upper)), sums, np.ones(m), method="highs")
    return float(found.fun)


def tilted(i: int, j: int) -> float:
    return float(max(2 * (i - j), j - i))


def main() -> None:
    args = options(__doc__)
    repeats = 1 if args.quick else 2
    rows, slowest = [], 0.0
    for n in (5, 10) if args.quick else (10, 30, 70):
        for epsilon in (0.1,) if args.quick else (0.001, 0.1, 1.0, 10.0):
            one = optimal_count(n, epsilon)
            runs = {
                "ours": lambda n=n, e=epsilon: optimal_count(n, e),
                "any": lambda n=n, e=epsilon: optimal_count(n, e, tilted),
                "prior": lambda n=n, e=epsilon: optimal_count(n, e, prior=np.ones(n + 1)),
            }
            if n < 70:
                runs["dense"] = lambda n=n, e=epsilon: dense(n, e)
            seconds = race(runs, repeats)
            least = dense(n, epsilon) if n < 70 else np.nan
            if n == 70 and epsilon in (0.1, 1.0):  # half a gigabyte, and many seconds
                start = perf_counter()
                least = dense(n, epsilon)
                seconds["dense"] = perf_counter() - start
            draw = 1e6 * race({"draw": lambda one=one: draws(one)}, repeats)["draw"] / 1000
            slowest = max(slowest, seconds["ours"], seconds["any"])
            beside = seconds.get("dense")
            texts = [f"{n}", f"{epsilon:g}", f"{seconds['ours']:.3g}", f"{seconds['any']:.3g}"]
            texts += [f"{seconds['prior']:.3g}", f"{beside:.3g}" if beside else ""]
            texts += [f"{beside / seconds['ours']:.0f}" if beside else "", f"{draw:.2g}"]
            texts += [f"{one.risk:.6g}", f"{least:.6g}" if beside else ""]
            rows.append(texts)
    head = [
        "n",
        "epsilon",
        "optimal_count",
        "any loss",
        "prior",
        "dense program",
        "dense / ours",
        "draw",
        "risk",
        "dense program's",
    ]
    parts = [NOTE.format(repeats=repeats), table(head, rows)]
    if not args.quick:
        parts.append(verdict("seconds for n = 70 at every epsilon and loss here", slowest, 10.0))
    report("optimal_counts", __doc__, parts, args)


def draws(one: OptimalCount) -> None:
    source = Secure()
    for _ in range(1000):
        one.draw(3, source)


if __name__ == "__main__":
    main()
