"""Kernels: linear maps, dropout, energies of scores."""
