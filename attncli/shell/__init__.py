"""The program: table of commands, help pages, completion, exit status."""
