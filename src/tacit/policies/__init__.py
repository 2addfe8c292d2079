"""From an estimate and one user's arms to a choice: post-processing and that user's own data."""
