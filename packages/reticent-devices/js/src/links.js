// Written by `make generated` from packages/reticent/src/reticent/model/links.py, where the
// formulas are explained: change that.
import { decay, tail } from "./numbers.js";

export const LINKS = {
  identity: {
    bounded: false,
    largest: 1,
    softness: 6.283185307179586,
    mean: (z) => z,
    slope: (z) => 1,
  },
  logistic: {
    bounded: true,
    largest: 0.5,
    softness: 0.39269908169872414,
    mean: (z) => {
      const e = decay(Math.abs(z));
      return (z >= 0 ? 1 : e) / (1 + e);
    },
    slope: (z) => {
      const e = decay(Math.abs(z));
      return e / ((1 + e) ** 2);
    },
  },
  probit: {
    bounded: true,
    largest: 0.7978845608028654,
    softness: 1,
    mean: (z) => tail(-z),
    slope: (z) => decay((0.5 * z) * z) / Math.sqrt(2 * Math.PI),
  },
};
