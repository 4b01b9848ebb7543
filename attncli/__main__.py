"""``python -m attncli``: the same as ``attn``."""

from attncli.app import main

if __name__ == "__main__":
    main()
