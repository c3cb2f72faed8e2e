#!/usr/bin/env python3
"""Fits the constants of the cost model to published step times.

Usage: fit.py ROWS.csv [--build DIR] [--cross-validate] [--write]

Takes the rows of the split "calibrate", of GPUs, of trust A. Minimizes a robust sum of squares of
log(predicted / published), with each constant's prior (core/cost/cost_constants.cpp) as a further
row, which counts as robustly. Rows of one model from one source share a weight, as they are not
independent. --cross-validate also predicts the rows of each device, class of devices, model and
source by a fit without them. --write writes core/cost/fitted_constants.cpp.

Needs Debian's python3-scipy.
"""
import argparse
import collections
import math
import pathlib
import re
import sys
import tempfile
import textwrap

import numpy
from scipy.optimize import least_squares

import published_rows
from published_rows import ROOT, Predictor, read_rows

#: By what published times of one configuration differ in other hands, as a standard deviation of
#: the logarithm: the scale of a residual.
NOISE = 0.08
#: Beyond so many of them a residual counts linearly.
ROBUST = 2.0
#: The n rows of one model from one source count as n to this power.
GROUP_POWER = 0.65


class Fit:
    def __init__(self, rows, predictor):
        self.predictor = predictor
        self.known = [i for i, problem in enumerate(predictor.problems) if problem is None]
        rows = self.rows = [rows[i] for i in self.known]
        self.names = [name for name, _, _ in predictor.constants]
        self.prior = numpy.log([value for _, value, _ in predictor.constants])
        self.spread = numpy.array([spread for _, _, spread in predictor.constants])
        self.published = numpy.array([float(row["step_ms"]) for row in rows])
        groups = [(row["source"], row["model"], row["precision"]) for row in rows]
        sizes = collections.Counter(groups)
        self.weight = numpy.array([sizes[g] ** ((GROUP_POWER - 1) / 2) for g in groups])

    def errors(self, logs):
        """log(predicted / published) of every row."""
        predicted = self.predictor.ask(numpy.exp(logs))
        return numpy.log(numpy.array([predicted[i] for i in self.known]) / self.published)

    def residuals(self, logs, chosen):
        rows = (self.errors(logs) * self.weight / NOISE)[chosen]
        return numpy.concatenate([rows, (logs - self.prior) / self.spread])

    def solve(self, chosen, start=None):
        return least_squares(self.residuals, self.prior if start is None else start,
                             args=(chosen,), loss="soft_l1", f_scale=ROBUST, max_nfev=60,
                             diff_step=1e-4, xtol=1e-5, ftol=1e-6)


def describe(errors):
    size = numpy.abs(numpy.expm1(errors))
    return (f"n {len(errors):4}  median {100 * numpy.median(size):5.1f} %  "
            f"within 20 % {100 * numpy.mean(size <= 0.2):4.0f} %  "
            f"bias {100 * numpy.mean(errors):+5.1f} %")


def device_class(row):
    """The generation: what stands before the first dash."""
    return row["device"].split("-")[0]


def cross_validate(fit, logs):
    for what, key in (("device", lambda row: row["device"]), ("class", device_class),
                      ("model", lambda row: row["model"]), ("source", lambda row: row["source"])):
        names = numpy.array([key(row) for row in fit.rows])
        errors = numpy.zeros(len(names))
        for name in sorted(set(names)):
            out = names == name
            errors[out] = fit.errors(fit.solve(~out, logs).x)[out]
            print(f"    {name[-60:]:60} {describe(errors[out])}")
        print(f"without the {what:7} {describe(errors)}", flush=True)


def write_constants(logs, covariance, residual):
    def numbers(values, digits):
        text = ", ".join(f"{value:.{digits}g}" for value in values)
        return textwrap.fill(text, 98, initial_indent="      ", subsequent_indent="      ")

    triangle = [value for i, row in enumerate(covariance) for value in row[:i + 1]]
    text = f"""// Written by bench/foresight/fit.py; do not edit.
#include "core/cost/cost_constants.h"

// clang-format off
namespace lockstep {{

const FittedConstants& fitted_constants() {{
  static const FittedConstants fitted{{
      constants_from(std::vector<double>{{
{numbers(numpy.exp(logs), 6)}}}),
      {{
{numbers(triangle, 4)}}},
      {residual:.6g}}};
  return fitted;
}}

}}  // namespace lockstep
"""
    (ROOT / "core/cost/fitted_constants.cpp").write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("rows")
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    parser.add_argument("--cross-validate", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = [row for row in read_rows(options.rows)
            if row["split"] == "calibrate" and row["trust"] == "A" and row["step_ms"]
            and not re.match("tpu|trainium|xeon|.*cpu", row["device"].lower())]
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(options.build) / "bench/foresight_rows"
        predictor = Predictor(rows, program, folder)
        fit = Fit(rows, predictor)
        kept = fit.rows
        everything = numpy.ones(len(kept), bool)
        solution = fit.solve(everything)
        errors = fit.errors(solution.x)
        print(f"in sample           {describe(errors)}")
        for name, log, prior in zip(fit.names, solution.x, fit.prior):
            print(f"  {name:24} {math.exp(log):8.4g}  prior {math.exp(prior):.4g}")
        for key in ("family", "device", "source"):
            for name in sorted({row[key] for row in kept}):
                chosen = numpy.array([row[key] == name for row in kept])
                print(f"  {name[-60:]:60} {describe(errors[chosen])}")
        worst = numpy.argsort(-numpy.abs(errors))[:30]
        for i in worst:
            row = kept[i]
            print(f"  {100 * math.expm1(errors[i]):+5.0f} % {row['id']} {row['model']} {row['device']} "
                  f"{row['precision']} {row['exec_mode']} {row['n_devices']} "
                  f"b {row['micro_batch_per_device']} {row['step_ms']} ms")
        if options.cross_validate:
            cross_validate(fit, solution.x)
        if options.write:
            jacobian = solution.jac[:len(kept)]  # with the weights of the robust sum
            information = jacobian.T @ jacobian + numpy.diag(fit.spread ** -2.0)
            covariance = numpy.linalg.inv(information)
            residual = float(numpy.median(numpy.abs(errors)) / 0.6745)
            write_constants(solution.x, covariance, residual)
        predictor.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
