"""``python -m cuihop`` is ``cuihop``."""

from cuihop.cli import main

if __name__ == "__main__":
    main()
