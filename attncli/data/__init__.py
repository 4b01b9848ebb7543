"""Readers of examples, tables and files; batching; examples that the program makes."""
