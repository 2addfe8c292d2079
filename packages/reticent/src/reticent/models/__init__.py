"""What is learnt: a model says what a person adds to the sums, how far that moves them, and what follows from what was
released. One file each, its kernels below it."""
