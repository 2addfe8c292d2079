"""One person in many leaves: the norm of the worst sum of encoder columns, one from each of several weeks.

A week is a group of successive leaves, at least `spacing` of them, and a person contributes to at most one leaf of
each of `weeks` weeks.

The same weeks in both worlds. Let it be v_w to leaf s_w in one world, v'_w to leaf s'_w of the same week in the other.
C x then moves by
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
a_{k+l}, which falls with l; and leaves of two weeks with j - 1 weeks between them are at least (j - 1) spacing + 1
leaves from each other. Hence sum_{w, u} g_{wu} <= weeks R(0) + 2 sum_{0 < j < weeks} (weeks - j) R((j - 1) spacing +
1): by any weeks, next to each other or not, and for every sequence of times at which steps close. This is N^2 below.

Other weeks in the other world, as many: a set S of leaves and a set T. With M the largest |v|^2 and H the largest of
- 2 <v, v'>, and 0,
    |z|^2 <= M (|U|^2 + |U'|^2) + H <U, U'> <= (2 M + H) N^2,   U and U' the sums of the columns of S and of T.
That is D^2 N^2 wherever one pair attains all three: LinearContribution (M = 1 + b, H = b^2 / 2 or 2 b - 2),
ScoreContribution (M = 1, H = 2), and CentredContribution with c = 1/2 (a^2 = 1/8, M = 3/8, H = 1/4). For
GLMContribution 2 M + H = 4 + 2 q is 5 to 14 % above D (q from .5 to 1.7), and yet D is enough:

Proof. |z| is convex in each v, so b = +-1 and each v has weight 0 or the largest. Let u and u' be the sums of those
columns of S and T whose v has the largest, m and l their numbers, and N_m^2 for m weeks what N^2 is for `weeks`. In one
world <v, v~> <= 1, and 1 + q if both have the largest weight; between worlds - 2 <v, v'> <= 2, and 2 - k if both have
it, k = 2 q for q <= 1/2, else 2 - 1 / (2 q) (at the worst angle: GLMContribution). With h = min(k, q) < 2, D^2 =
4 + 2 q - h, and as columns are not negative,
    |z|^2 <= |U + U'|^2 + q (|u|^2 + |u'|^2) - k <u, u'>
          <= |U|^2 + |U'|^2 + (2 - h) <U, U'> + q (|u|^2 + |u'|^2) + h (<U, U'> - <u, u'>)
          <= (4 - h) N^2 + q (N_m^2 + N_l^2) + h (2 N^2 - N_m^2 - N_l^2) <= (4 - h + 2 q) N^2 = D^2 N^2,
since <U, U'> - <u, u'> = <U - u, U'> + <u, U' - u'> <= (N^2 - N_m^2) + (N^2 - N_l^2) by the
Lemma. p columns and at most n others: <their sum, their sum> <= N_n^2 - N_{n-p}^2. Proof. Each <c_s, c_r> is at most a
number that falls with the distance of the weeks. So two intervals of weeks, p in the middle of n, are the worst (Hardy,
Littlewood & Polya 1934, Theorem 371). Let Y be the p, L and R those of the n on their left and right, and (L, R) the
sum over pairs. N_n^2 - N_{n-p}^2 is larger than (Y, L + Y + R) by (Y, L) + (Y, R) + 2 (L, R) - 2 (L, R moved to L).
(L, Y) + (L, R) is L with an interval next to it of at least R's length, so no less than (L, R moved); nor is (R, Y) +
(R, L).

For other contributions (a centre c other than 1/2, features of both signs) D is not known to be enough, and
sqrt(2 M + H) is: for CentredContribution it is 11 % above D at c = .38, which is its worst, and 3 % at c = .1. The
certificate of twice as many weeks covers other weeks whatever the contribution is.

With k contributions in a week, and not one, z is a sum of k such sums (zeros, which are contributions too, fill up
those that have fewer): k times the norm.
"""

import math

import numpy as np

from reticent.data import Array


def sum_norm(coefficients: Array, weeks: int, spacing: int) -> float:
    """sqrt of the bound above, for D = 1: the norm of a column where there is one week."""
    total = weeks * float(np.sum(coefficients**2))
    for j in range(1, weeks):
        lag = (j - 1) * spacing + 1
        if lag >= coefficients.size:
            break
        total += 2 * (weeks - j) * float(coefficients[:-lag] @ coefficients[lag:])
    return math.sqrt(total)
