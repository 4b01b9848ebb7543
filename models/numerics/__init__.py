"""Kernels: linear maps, packed weights, dropout, deferred gradients, energies of scores."""
