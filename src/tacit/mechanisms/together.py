"""One person in many leaves: the norm of the worst sum of encoder columns, one from each of several weeks.

A week is a group of successive leaves, at least `apart` of them, and a person contributes to at most one leaf of
each of `weeks` weeks, the same ones in both worlds.

Let it be v_w to leaf s_w in one world, v'_w to leaf s'_w of the same week in the other. C x then
moves by
    z = sum_w (c_{s_w} v_w - c_{s'_w} v'_w).
Columns overlap, so this is no sum of independent parts, and no square root of `weeks` bounds it. What does:

    |z|^2 <= D^2 sum_{w, u} g_{wu},   g_{wu} the largest <c_s, c_r> of a leaf s of week w and a leaf r of week u.

Proof. Contributions have two properties, and so has all that is between them (both are convex): |v - v'| <= D, and
|v|^2 + |v'|^2 <= D^2. For w = u a term is at most D^2 times the largest squared column norm (mechanisms.continual).
For w != u it is G1 <v_w, v_u> + G2 <v'_w, v'_u> - G3 <v_w, v'_u> - G4 <v'_w, v_u> with 0 <= G <= g_{wu}, since
entries of C are not negative; so at most g_{wu} times the sum of the positive ones among <v_w, v_u> <= (|v_w|^2 +
|v_u|^2) / 2, the same for v', and - <v_w, v'_u> <= (D^2 - |v_w|^2 - |v'_u|^2) / 2, which is not negative, the same
for the other. These four bounds add up to D^2.

C is lower triangular Toeplitz with coefficients that do not rise, so <c_s, c_r> <= R(|s - r|), R(l) = sum_k a_k
a_{k+l}, which falls with l; and leaves of two weeks with j - 1 weeks between them are at least (j - 1) apart + 1
leaves from each other. Hence sum_{w, u} g_{wu} <= weeks R(0) + 2 sum_{0 < j < weeks} (weeks - j) R((j - 1) apart +
1): by any weeks, next to each other or not, and for every sequence of times at which steps close.

With k contributions in a week, and not one, z is a sum of k such sums (zeros, which are contributions too, fill up
those that have fewer): k times the norm.
"""

import math

import numpy as np

from tacit.data import Array


def sum_norm(coefficients: Array, weeks: int, apart: int) -> float:
    """sqrt of the bound above, for D = 1: the norm of a column where there is one week."""
    total = weeks * float(np.sum(coefficients**2))
    for j in range(1, weeks):
        lag = (j - 1) * apart + 1
        if lag >= coefficients.size:
            break
        total += 2 * (weeks - j) * float(coefficients[:-lag] @ coefficients[lag:])
    return math.sqrt(total)
