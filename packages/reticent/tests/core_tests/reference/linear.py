"""Slow, obvious versions: what the kernels are compared with."""

import numpy as np
from scipy.linalg import sqrtm, toeplitz


def svec(matrix):
    d = len(matrix)
    return np.array([matrix[i, j] * (1 if i == j else np.sqrt(2)) for i in range(d) for j in range(i, d)])


def contribution(x, y, scale, low, high):
    x = x / max(1.0, np.linalg.norm(x))
    return np.concatenate([svec(np.outer(x, x)), scale * np.clip(y, low, high) * x])


def unpack(released, d, scale):
    """gram and moment from (svec(gram), scale moment)."""
    gram, k = np.zeros((d, d)), 0
    for i in range(d):
        for j in range(i, d):
            gram[i, j] = gram[j, i] = released[k] / (1 if i == j else np.sqrt(2))
            k += 1
    return gram, released[k:] / scale


def ucb_values(arms, theta, V, width, drift):
    inverse = np.linalg.inv(V)
    return np.array([x @ theta + width * np.sqrt(x @ inverse @ x) + drift * np.linalg.norm(inverse @ x) for x in arms])


def cover(t):
    """The nodes (height, number) of a binary tree that cover leaves 1..t."""
    nodes, start = [], 0
    for height in reversed(range(t.bit_length())):
        if (t >> height) & 1:
            nodes.append((height, start >> height))
            start += 1 << height
    return nodes


def tree_prefix_noise(noises, t):
    """Sum of the noise of the nodes that cover 1..t; noises maps (height, number) to a vector."""
    return sum(noises[node] for node in cover(t))


def best_linear_estimate(node_values, t, sigma=1.0):
    """Generalised least squares estimate of the prefix 1..t from every complete node within it."""
    nodes = [node for node in node_values if (node[1] + 1) << node[0] <= t]
    design = np.zeros((len(nodes), t))
    for row, (height, number) in enumerate(nodes):
        design[row, number << height : (number + 1) << height] = 1
    values = np.array([node_values[node] for node in nodes])
    leaves, *_ = np.linalg.lstsq(design, values, rcond=None)
    return np.ones(t) @ leaves


def root_toeplitz(n):
    """The square root of the lower triangular matrix of ones."""
    ones, f = np.tril(np.ones((n, n))), [1.0]
    for k in range(1, n):
        f.append(f[-1] * (2 * k - 1) / (2 * k))
    matrix = toeplitz(f, np.zeros(n))
    assert np.allclose(matrix @ matrix, ones) and (n > 30 or np.allclose(sqrtm(ones), matrix, atol=1e-6))
    return matrix
