"""Whether a folder is on a network file system, whose clients keep what they know of names for a while."""

from __future__ import annotations

import re
from pathlib import Path

STALE = 120.0
"""[s] in which what another machine has written must be seen; NFS caches names and attributes for 60 s."""

MOUNTS = Path("/proc/self/mountinfo")

LOCAL = re.compile(
    "ext[234]|xfs|btrfs|bcachefs|zfs|f2fs|jfs|reiserfs|tmpfs|ramfs|rootfs|overlay|aufs|vfat|exfat|ntfs3?|"
    "fuseblk|squashfs|erofs|iso9660|hfsplus"
)
"""File systems of which one machine has all names. Of others, FUSE among them, nobody knows."""

_OCTAL = re.compile(r"\\([0-7]{3})")


def on_a_network(path: Path, mounts: Path = MOUNTS) -> bool:
    """Whether the file system that has a path may be one of several machines.

    Args:
        mounts: the kernel's list, as proc(5) describes it. Where there is none (macOS) the answer is no.
    """
    try:
        lines = mounts.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return False
    where, kind = Path(), ""
    real = path.resolve()
    for fields in (line.split() for line in lines):
        point = Path(_OCTAL.sub(lambda code: chr(int(code[1], 8)), fields[4]))
        # a later one covers an earlier
        if real.is_relative_to(point) and len(point.parts) >= len(where.parts):
            where, kind = point, fields[fields.index("-") + 1]
    return bool(kind) and not LOCAL.fullmatch(kind)
