"""Search of outputs: beam, greedy, sampling, constraints, minimum Bayes risk."""
