"""Tests of the zoo: equalities that hold for every member of the registry and every preset."""
