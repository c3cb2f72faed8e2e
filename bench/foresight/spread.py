"""How far published times are from predicted ones, and how much of that two rows share.

A residual is the logarithm of published over predicted times that the uncertainty of the constants
leaves. core/cost/residual_spread.h has the formulas of its deviation and covariance, which stand
here once more for all rows at once; the deployed ones are those within one source and device.
"""
import numpy
from scipy.optimize import minimize, minimize_scalar

from intervals import best_constant_score, interval_score

EXECUTIONS = ("eager", "compiled", "hand_fused", "xla", "static_graph")
USUAL_WORK = 13  # a logarithm of FLOPs, to base 10
EIGHTY_PERCENT = 1.2816  # of a normal distribution lie within so many standard deviations

#: Means and standard deviations of the parameters before any row is seen. Shares and correlations
#: are logistic functions of theirs, lengths exponential ones.
DEVIATION = {"whole": (-2, 1), **{f"execution.{name}": (0, 0.5) for name in EXECUTIONS},
             "work": (0, 0.5), "stand_in": (0, 1), "ordinary_units": (0, 0.5)}
SHARED = {"alone": (-3, 1.5), "other_math": (0, 2), "other_execution": (0, 2),
          "other_source": (-1, 2), "other_device": (-1, 2)}
LENGTHS = {"parameters_length": (-1, 1.5), "devices_length": (1, 1.5), "work_length": (1, 1.5)}
MEAN, SPREAD = numpy.array([*DEVIATION.values(), *SHARED.values(), *LENGTHS.values()]).T


class Spread:
    """Of rows with traits (foresight_rows has them), each of a source and a device."""

    def __init__(self, traits, sources, devices):
        def column(key):
            return numpy.array([each[key] for each in traits])

        def same(values):
            values = numpy.array(values)
            return values[:, None] == values[None, :]

        def apart(key):
            logs = numpy.log(column(key))
            return numpy.abs(logs[:, None] - logs[None, :])

        self.effects = numpy.column_stack(
            [numpy.ones(len(traits)), *(column("execution") == name for name in EXECUTIONS),
             numpy.log10(column("flops")) - USUAL_WORK, column("stand_in"),
             column("ordinary_units")])
        self.same = [same(column("math")), same(column("execution")), same(sources), same(devices)]
        self.apart = [apart("parameters"), apart("devices"), apart("flops")]

    def deviation(self, parameters):
        return numpy.exp(self.effects @ parameters[:len(DEVIATION)])

    def covariance(self, parameters):
        shared = logistic(parameters[len(DEVIATION):][:len(SHARED)])
        lengths = numpy.exp(parameters[-len(LENGTHS):])
        alike = numpy.exp(-sum(map(numpy.divide, self.apart, lengths)))
        for same, other in zip(self.same, shared[1:]):
            alike = alike * numpy.where(same, 1, other)
        deviation = self.deviation(parameters)
        return numpy.outer(deviation, deviation) * (
            (1 - shared[0]) * alike + shared[0] * numpy.eye(len(alike)))


def logistic(values):
    return 1 / (1 + numpy.exp(-values))


def most_likely(spread, errors, of_constants):
    """The parameters under which the errors of the priors' predictions are the likeliest.

    `of_constants` is the covariance of these errors that the priors' own spread gives.
    """
    def cost(parameters):
        try:
            triangle = numpy.linalg.cholesky(of_constants + spread.covariance(parameters))
        except numpy.linalg.LinAlgError:
            return 1e6
        white = numpy.linalg.solve(triangle, errors)
        return (0.5 * white @ white + numpy.log(numpy.diag(triangle)).sum()
                + 0.5 * numpy.sum(((parameters - MEAN) / SPREAD) ** 2))

    return minimize(cost, MEAN, method="L-BFGS-B").x


def best_scoring(spread, samples):
    """The parameters of the deviation for which 80 % intervals score best ("optimum score
    estimation", Gneiting and Raftery 2007, section 9.1).

    `samples` are pairs: errors of all rows, and the variances that the constants have in them.
    """
    constant = [best_constant_score(errors) for errors, _ in samples]
    mean, width = MEAN[:len(DEVIATION)], SPREAD[:len(DEVIATION)]

    def cost(parameters):
        own = numpy.exp(2 * spread.effects @ parameters)
        scores = [interval_score(errors, EIGHTY_PERCENT * numpy.sqrt(variance + own)).mean()
                  for errors, variance in samples]
        return (numpy.mean(numpy.divide(scores, constant))
                + 0.001 * numpy.sum(((parameters - mean) / width) ** 2))

    out = mean
    for _ in range(3):
        out = minimize(cost, out, method="Powell").x
    return out


def best_scoring_growth(errors, variances, deviation):
    """By how much the logarithm of the deviation grows for intervals of these errors to score
    best."""
    def cost(growth):
        own = (deviation * numpy.exp(growth)) ** 2
        return interval_score(errors, EIGHTY_PERCENT * numpy.sqrt(variances + own)).mean()

    return minimize_scalar(cost, bounds=(0, 4), method="bounded").x
