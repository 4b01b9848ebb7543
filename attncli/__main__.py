"""``python -m attncli``: the same as ``attn``."""

from attncli.shell.app import main

if __name__ == "__main__":
    main()
