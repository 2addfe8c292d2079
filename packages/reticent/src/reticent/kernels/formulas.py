"""The formulas of model/, compiled: what devices compute in Python and kernels at full speed is written once.

Registered functions can be called by every kernel under their own name."""

from numba import types
from numba.extending import overload, register_jitable

from reticent.kernels.compile import kernel
from reticent.model import glm, holdout, linear, links, scores, vectors

for _function in (
    links.decay,
    links.tail,
    links.mean,
    links.slope,
    links.integral,
    links.softness,
    vectors.packed_size,
    vectors.pair_size,
    vectors.norm,
    vectors.quadratic,
    vectors.shortened,
    vectors.add_outer,
    vectors.add_pair,
    glm.predict,
    glm.softened,
    glm.tangent,
    glm.line,
    glm.linearize,
    glm.in_units,
    glm.unit_reward,
    glm.in_centred_units,
    scores.mean_share,
    scores.score,
    scores.at,
    scores.pace,
):
    register_jitable(_function)

# Numbers and tables are different types to numba: each kernel is compiled for tables only when one is used.


@overload(links.kind)
def _kind(code):
    if isinstance(code, types.BaseTuple):
        return lambda code: links.TABLE
    return lambda code: code if code != links.TABLE else links.NONE


@overload(links.table_mean, strict=False)
def _table_mean(table, z):
    return links.table_mean if isinstance(table, types.BaseTuple) else (lambda table, z: 0.0)


@overload(links.table_slope, strict=False)
def _table_slope(table, z):
    return links.table_slope if isinstance(table, types.BaseTuple) else (lambda table, z: 0.0)


link_mean = kernel(links.mean)
add_linear = kernel(linear.add_linear)
add_glm = kernel(glm.add_glm)
add_score = kernel(scores.add_score)
add_groups = kernel(holdout.add_groups)
