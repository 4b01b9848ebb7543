"""The files of a bundle: settings, weights, digests, archives. Builds no model."""
