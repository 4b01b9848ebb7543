"""Tests, laid out as the packages they are of."""
