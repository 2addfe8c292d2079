"""One pass over people's data, each used once at the public estimate of its time (JointGLM): see `algorithm`.

curvature, scores, fields and centred say what is released and how an estimate follows from it."""
