"""Search of outputs: beam, greedy, sampling, constraints."""
