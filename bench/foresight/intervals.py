"""How good 80 % intervals are. Works for numbers and for arrays of them."""
import statistics

BEYOND = 0.2  # how often what is foreseen is to lie beyond its interval


def interval_score(errors, half):
    """Of 80 % intervals of this half width: Gneiting and Raftery 2007, equation 43."""
    over = abs(errors) - half
    return 2 * half + (over + abs(over)) / BEYOND


def best_constant_score(errors):
    """The mean score of the best intervals that are all of one width."""
    return min(statistics.fmean(interval_score(error, abs(half)) for error in errors)
               for half in errors)
