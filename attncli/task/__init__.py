"""Parts that all tasks share: their table, the protocol `Runner`, and what is drawn."""
