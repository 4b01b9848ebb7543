"""One file per command: parse, call the job, render."""
