"""The worlds of tools.fields hybrid, and of tools.plan.floor: what is given, or what nobody declares, differs."""

import numpy as np
import pytest
from tools.plan.floor import UNDECLARED, Otherwise, answers, told
from tools.plan.judge import question, read
from tools.texts import DENSE, DISJOINT, HYBRID, SCHEMAS, Texts, rows

from tacit.model.hybrid import Layout
from tacit_lab.environments.random import random


def test_forms_are_of_one_world():
    blocks = {}
    for form in (HYBRID, DISJOINT, DENSE):
        world = Texts(form=form)
        blocks[form] = world.block(50)
        world.start(np.random.default_rng(3), 50).fill(blocks[form])
    assert all(np.array_equal(block.means, blocks[HYBRID].means) for block in blocks.values())
    schema = SCHEMAS[HYBRID]
    layout = Layout(schema.shared, 6, (schema.dim - schema.shared) // 6)
    assert np.allclose(layout.whole(rows(HYBRID)[5, 2]), rows(DENSE)[5, 2])
    assert rows(DISJOINT).shape[-1] == rows(HYBRID).shape[-1] - schema.shared


@pytest.mark.parametrize("number", [100, 101])
def test_what_is_declared_stays(number):
    own, other = random(number=number), Otherwise(number=number, tastes=10_007)
    assert question(other) == question(own) and other.features is own.features
    same = {name for name in own.setting._fields if getattr(own.setting, name) == getattr(other.setting, name)}
    assert same >= set(own.setting._fields) - set(UNDECLARED) and "strength" not in same


def test_answers_to_the_judged_plans():
    """The best in hindsight is better than any one for all, and the first is what plans say of themselves."""
    found = answers(read())
    said, mean, best = found.values()
    assert 0.3 < np.mean(said <= 0.05) < 0.45 and best.mean() < min(said.mean(), mean.mean())
    assert told(np.array([0.0, 0.2])).startswith("within 0.05 50%, within 0.1 50%; median 0.10")
