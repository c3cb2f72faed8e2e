#!/usr/bin/env python3
"""Fits the constants of the cost model to published step times.

Usage: fit.py ROWS.csv [--build DIR] [--cross-validate] [--write]

Takes the rows of the split "calibrate", of GPUs, of trust A. Minimizes, over the logarithms of the
constants, a sum of three:

1. a robust sum of squares of log(predicted / published), in which rows of one model from one source
   share a weight, as they are not independent: where the times are;
2. the square of these errors by the inverse of their covariance, which spread.py estimates: how the
   times of related rows differ, which is known far better;
3. the square of each constant's distance from its prior (core/cost/cost_constants.cpp).

The covariance of the constants follows from 2 and 3. The spread that is left is then the one whose
80 % intervals score best, for the rows themselves and for those of each source and each model as a
fit without them predicts them; rows of other kinds of devices than GPUs, of which none is fitted, say
how much wider it is there. --cross-validate also predicts the rows of each device, class of
devices, model and source by a fit without them. --write writes core/cost/fitted_constants.cpp.

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

from intervals import best_constant_score, interval_score
from published_rows import ROOT, Predictor, read_rows
import spread as spreads

#: By what published times of one configuration differ in other hands, as a standard deviation of
#: the logarithm: the scale of a robust residual.
NOISE = 0.16
#: Beyond so many of them a residual counts linearly.
ROBUST = 2.0
#: By which logarithms of constants change to find slopes: the times that follow are far more than the nanosecond to
#: which they are rounded.
STEP = 1e-4
#: The n rows of one model from one source count as n to this power.
GROUP_POWER = 0.65


class Fit:
    def __init__(self, rows, predictor):
        self.predictor = predictor
        self.known = [i for i, problem in enumerate(predictor.problems) if problem is None]
        rows = self.rows = [rows[i] for i in self.known]
        self.names = [name for name, *_ in predictor.constants]
        self.prior = numpy.log([prior for _, prior, _, _ in predictor.constants])
        self.spread = numpy.array([spread for _, _, spread, _ in predictor.constants])
        self.fitted = numpy.log([fitted for _, _, _, fitted in predictor.constants])
        self.published = numpy.array([float(row["step_ms"]) for row in rows])
        groups = [(row["source"], row["model"], row["precision"]) for row in rows]
        sizes = collections.Counter(groups)
        self.weight = numpy.array([sizes[g] ** ((GROUP_POWER - 1) / 2) for g in groups])
        self.residual = spreads.Spread([predictor.traits[i] for i in self.known],
                                       [row["source"] for row in rows],
                                       [row["device"] for row in rows])
        self.parameters = None  # of the residual, once estimated

    def errors(self, logs):
        """log(predicted / published) of every row."""
        predicted = self.predictor.ask(numpy.exp(logs))
        return numpy.log(numpy.array([predicted[i] for i in self.known]) / self.published)

    def slopes(self, logs):
        """Of errors(), by each constant."""
        step = 1e-3
        base = self.errors(logs)
        return numpy.array([(self.errors(logs + step * unit) - base) / step
                            for unit in numpy.eye(len(logs))]).T

    def solve(self, chosen, start=None):
        """The logarithms of the constants that fit these rows best, from `start`, or from both the priors and what
        the program has: there are several minima."""
        triangle = None
        if self.parameters is not None:
            covariance = self.residual.covariance(self.parameters)[numpy.ix_(chosen, chosen)]
            triangle = numpy.linalg.cholesky(covariance)

        def residuals(logs):
            errors = self.errors(logs)[chosen]
            out = [soft(errors * self.weight[chosen] / NOISE), (logs - self.prior) / self.spread]
            if triangle is not None:
                out.append(numpy.linalg.solve(triangle, errors))
            return numpy.concatenate(out)

        def slopes(logs):
            base = residuals(logs)
            return numpy.array([(residuals(logs + STEP * unit) - base) / STEP
                                for unit in numpy.eye(len(logs))]).T

        starts = [self.prior, self.fitted] if start is None else [start]
        found = [least_squares(residuals, each, slopes, max_nfev=60, xtol=1e-5, ftol=1e-6) for each in starts]
        return min(found, key=lambda one: one.cost).x

    def estimate_residual(self, logs):
        slopes = self.slopes(logs)
        of_priors = -self.errors(logs) + slopes @ (logs - self.prior)
        self.parameters = spreads.most_likely(self.residual, of_priors,
                                              slopes * self.spread ** 2 @ slopes.T)

    def covariance(self, slopes, chosen):
        """Of the constants that are fitted to these rows."""
        residual = self.residual.covariance(self.parameters)[numpy.ix_(chosen, chosen)]
        known = slopes[chosen].T @ numpy.linalg.solve(residual, slopes[chosen])
        return numpy.linalg.inv(known + numpy.diag(self.spread ** -2.0))

    def errors_without(self, names, logs):
        """Errors of the rows of each name by a fit without them, and the fit's variance in them."""
        slopes = self.slopes(logs)
        names = numpy.array(names)
        errors, variances = numpy.zeros(len(names)), numpy.zeros(len(names))
        for name in sorted(set(names)):
            out = names == name
            errors[out] = self.errors(self.solve(~out, logs))[out]
            variances[out] = variances_of(slopes[out], self.covariance(slopes, ~out))
        return errors, variances


def soft(values):
    """The square of it grows linearly beyond ROBUST (least_squares' soft_l1)."""
    squared = 2 * ROBUST ** 2 * (numpy.sqrt(1 + (values / ROBUST) ** 2) - 1)
    return numpy.sign(values) * numpy.sqrt(squared)


def variances_of(slopes, covariance):
    return numpy.einsum("ij,jk,ik->i", slopes, covariance, slopes)


def describe(errors):
    size = numpy.abs(numpy.expm1(errors))
    return (f"n {len(errors):4}  median {100 * numpy.median(size):5.1f} %  "
            f"within 20 % {100 * numpy.mean(size <= 0.2):4.0f} %  "
            f"bias {100 * numpy.mean(errors):+5.1f} %")


def is_gpu(row):
    return not re.match("tpu|trainium|xeon|.*cpu", row["device"].lower())


def device_class(row):
    """The generation: what stands before the first dash."""
    return row["device"].split("-")[0]


def cross_validate(fit, logs):
    """Errors of the rows of each name by a fit without them, and what their 80 % intervals are worth, of which the
    residual's deviation is that of all rows."""
    chosen = numpy.ones(len(fit.rows), bool)
    parameters = best_deviation(fit, logs, fit.covariance(fit.slopes(logs), chosen))
    deviation = fit.residual.deviation(parameters)
    for what, key in (("device", lambda row: row["device"]), ("class", device_class),
                      ("model", lambda row: row["model"]), ("source", lambda row: row["source"])):
        names = numpy.array([key(row) for row in fit.rows])
        errors, variances = fit.errors_without(names, logs)
        half = spreads.EIGHTY_PERCENT * numpy.sqrt(variances + deviation ** 2)
        gain = 1 - numpy.mean(interval_score(errors, half)) / best_constant_score(errors)
        for name in sorted(set(names)):
            print(f"    {name[-60:]:60} {describe(errors[names == name])}")
        print(f"without the {what:7} {describe(errors)}  covered {100 * numpy.mean(abs(errors) <= half):4.1f} %  "
              f"score {100 * gain:+5.1f} %", flush=True)


def best_deviation(fit, logs, covariance):
    """Parameters of the deviation of the residual of a row that may or may not be akin to others."""
    samples = [(fit.errors(logs), variances_of(fit.slopes(logs), covariance))]
    samples += [fit.errors_without([row[key] for row in fit.rows], logs)
                for key in ("source", "model")]
    for what, (errors, variance) in zip(("in sample", "source", "model"), samples):
        print(f"errors {what:10} {describe(errors)}")
    return spreads.best_scoring(fit.residual, samples)


def other_kind_growth(rows, options, logs, covariance, deviation):
    """Of the deviation's logarithm, on devices that are no GPUs."""
    with tempfile.TemporaryDirectory() as folder:
        predictor = Predictor(rows, pathlib.Path(options.build) / "bench/foresight_rows", folder)
        others = Fit(rows, predictor)
        if not others.rows:
            return 0
        errors = others.errors(logs)
        print(f"other kinds       {describe(errors)}")
        out = spreads.best_scoring_growth(errors, variances_of(others.slopes(logs), covariance),
                                          others.residual.deviation(deviation))
        predictor.close()
    return out


def write_constants(logs, covariance, deviation, parameters, other_kind):
    def numbers(values, digits):
        text = ", ".join(f"{value:.{digits}g}" for value in values)
        return textwrap.fill(text, 98, initial_indent="      ", subsequent_indent="      ")

    triangle = [value for i, row in enumerate(covariance) for value in row[:i + 1]]
    residual = residual_members(deviation, parameters, other_kind)
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
      {{{residual}}}}};
  return fitted;
}}

}}  // namespace lockstep
"""
    (ROOT / "core/cost/fitted_constants.cpp").write_text(text, encoding="utf-8")


def residual_members(deviation, parameters, other_kind):
    """The initializer of a ResidualSpread."""
    named = dict(zip(spreads.DEVIATION, deviation))
    rest = parameters[len(spreads.DEVIATION):]
    shared = dict(zip(spreads.SHARED, spreads.logistic(rest)))
    lengths = dict(zip(spreads.LENGTHS, numpy.exp(rest[len(shared):])))
    execution = ", ".join(f"{named['execution.' + name]:.4g}" for name in spreads.EXECUTIONS)
    members = [("whole", f"{named['whole']:.4g}"), ("execution", f"{{{execution}}}")]
    members += [(key, f"{named[key]:.4g}") for key in ("work", "stand_in", "ordinary_units")]
    members += [("other_kind", f"{other_kind:.4g}")]
    members += [(key, f"{shared[key]:.4g}") for key in ("alone", "other_math", "other_execution")]
    members += [(key, f"{value:.4g}") for key, value in lengths.items()]
    return ",\n       ".join(f".{key} = {value}" for key, value in members)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("rows")
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    parser.add_argument("--cross-validate", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    usable = [row for row in read_rows(options.rows)
              if row["split"] == "calibrate" and row["trust"] == "A" and row["step_ms"]]
    rows = [row for row in usable if is_gpu(row)]
    other_kinds = [row for row in usable if not is_gpu(row)]
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(options.build) / "bench/foresight_rows"
        predictor = Predictor(rows, program, folder)
        fit = Fit(rows, predictor)
        kept = fit.rows
        everything = numpy.ones(len(kept), bool)
        fit.estimate_residual(fit.solve(everything))
        logs = fit.solve(everything)
        fit.estimate_residual(logs)
        logs = fit.solve(everything, logs)
        errors = fit.errors(logs)
        print(f"in sample           {describe(errors)}")
        for name, log, prior in zip(fit.names, logs, fit.prior):
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
            cross_validate(fit, logs)
        if options.write:
            covariance = fit.covariance(fit.slopes(logs), everything)
            deviation = best_deviation(fit, logs, covariance)
            growth = other_kind_growth(other_kinds, options, logs, covariance, deviation)
            write_constants(logs, covariance, deviation, fit.parameters, growth)
        predictor.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
