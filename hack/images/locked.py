"""Prints the part of requirements.lock (read from standard input) that the named packages need.

An image gets only what its program imports; the hashes stay, so pip still checks every file.
"""

import re
import sys


def main(roots: list[str]) -> None:
    blocks = re.split(r"^(?=[a-z0-9])", sys.stdin.read(), flags=re.MULTILINE)[1:]
    by_name = {block.split("==")[0]: block for block in blocks}
    needed_by = {
        name: re.findall(r"^    # +(?:via )?([a-z0-9.-]+)$", block, re.MULTILINE)
        for name, block in by_name.items()
    }
    unknown = set(roots) - set(by_name)
    if unknown:
        sys.exit(f"not in the lock: {', '.join(sorted(unknown))}")
    included: set[str] = set()
    added = set(roots)
    while added:
        included |= added
        added = {name for name, parents in needed_by.items() if included & set(parents)} - included
    print("".join(by_name[name] for name in sorted(included)), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
