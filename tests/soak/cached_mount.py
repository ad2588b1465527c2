"""A folder mounted through FUSE, whose names and attributes the kernel keeps for a while, as a client of NFS
does: also that a name was not there, and what a folder had in it. Run as a program, it serves one mount until
it is unmounted.

    python -m tests.soak.cached_mount FOLDER MOUNTPOINT SECONDS

It speaks the kernel's protocol (linux/fuse.h, version 7.31) itself, as much of it as files in folders need.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import sys
import time
from collections.abc import Callable

LOOKUP, FORGET, GETATTR, SETATTR = 1, 2, 3, 4
MKDIR, UNLINK, RMDIR, RENAME, LINK, OPEN, READ, WRITE = 9, 10, 11, 12, 13, 14, 15, 16
STATFS, RELEASE, FSYNC, FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, FSYNCDIR = (
    17,
    18,
    20,
    25,
    26,
    27,
    28,
    29,
    30,
)
CREATE, INTERRUPT, DESTROY, BATCH_FORGET, RENAME2 = 35, 36, 38, 42, 45

CHANGES = (MKDIR, UNLINK, RMDIR, RENAME, RENAME2, LINK, CREATE)

HEADER = struct.Struct("<IIQQIIII")  # of a request: length, opcode, unique, node, uid, gid, pid, padding
REPLY = struct.Struct("<IiQ")
ATTRIBUTES = struct.Struct("<QQQQQQIIIIIIIIII")
SIZE = 1 << 17


class Mount:
    """Requests of one mount, answered from a folder."""

    def __init__(self, folder: str, seconds: float) -> None:
        self.paths = {1: folder}
        self.nodes = {folder: 1}
        self.files: dict[int, int] = {}
        self.listings: dict[str, tuple[float, list[str]]] = {}
        self.seconds = seconds
        self.valid = (int(seconds), int(seconds % 1 * 1e9))
        self.answers: dict[int, Callable[[int, bytes], bytes]] = {
            LOOKUP: self.lookup, GETATTR: self.getattr, SETATTR: self.setattr, MKDIR: self.mkdir,
            UNLINK: self.unlink, RMDIR: self.rmdir, RENAME: self.rename, RENAME2: self.rename,
            LINK: self.link, OPEN: self.open, CREATE: self.create, READ: self.read, WRITE: self.write,
            FLUSH: self.nothing, RELEASE: self.release, FSYNC: self.fsync, FSYNCDIR: self.nothing,
            OPENDIR: self.opendir, READDIR: self.readdir, RELEASEDIR: self.nothing, STATFS: self.statfs,
        }  # fmt: skip

    def serve(self, device: int) -> None:
        """Until it is unmounted."""
        while True:
            try:
                request = os.read(device, SIZE + 4096)
            except OSError as error:
                if error.errno == errno.ENODEV:
                    return
                continue
            _, code, unique, node, *_ = HEADER.unpack_from(request)
            if code in (FORGET, BATCH_FORGET, INTERRUPT, DESTROY):
                continue
            body, status = b"", 0
            try:
                if code == INIT:
                    body = self.init()
                elif code in self.answers:
                    body = self.answers[code](node, request[HEADER.size :])
                    if code in CHANGES:
                        self.listings.pop(self.paths[node], None)
                else:
                    status = -errno.ENOSYS
            except OSError as error:
                status, body = -(error.errno or errno.EIO), b""
            try:
                os.write(device, REPLY.pack(REPLY.size + len(body), status, unique) + body)
            except OSError:
                continue  # whoever asked was killed meanwhile

    def init(self) -> bytes:
        return struct.pack("<IIIIHHIIHHI28x", 7, 31, SIZE, 0, 16, 12, SIZE, 1, 32, 0, 0)

    def node(self, path: str) -> int:
        if path not in self.nodes:
            self.nodes[path] = len(self.paths) + 1
            self.paths[self.nodes[path]] = path
        return self.nodes[path]

    def child(self, node: int, name: bytes) -> str:
        return os.path.join(self.paths[node], name.split(b"\0")[0].decode())

    def attributes(self, path: str) -> bytes:
        s = os.lstat(path)
        times = [getattr(s, f"st_{t}time_ns") for t in "amc"]
        seconds, rest = [t // 10**9 for t in times], [t % 10**9 for t in times]
        return ATTRIBUTES.pack(
            s.st_ino,
            s.st_size,
            s.st_blocks,
            *seconds,
            *rest,
            s.st_mode,
            s.st_nlink,
            s.st_uid,
            s.st_gid,
            0,
            4096,
            0,
        )

    def entry(self, path: str) -> bytes:
        """A name, and for how long it and its attributes may be kept."""
        seconds, rest = self.valid
        return struct.pack("<QQQQII", self.node(path), 0, seconds, seconds, rest, rest) + self.attributes(
            path
        )

    def lookup(self, node: int, body: bytes) -> bytes:
        path = self.child(node, body)
        if not os.path.lexists(path):  # node 0: it may be kept that there is none
            return struct.pack("<QQQQII", 0, 0, self.valid[0], 0, self.valid[1], 0) + bytes(ATTRIBUTES.size)
        return self.entry(path)

    def getattr(self, node: int, body: bytes) -> bytes:
        return struct.pack("<QII", *self.valid, 0) + self.attributes(self.paths[node])

    def setattr(self, node: int, body: bytes) -> bytes:
        valid, _, _, size = struct.unpack_from("<IIQQ", body)
        mode = struct.unpack_from("<I", body, 68)[0]
        path = self.paths[node]
        if valid & 1:
            os.chmod(path, stat.S_IMODE(mode))
        if valid & 8:
            os.truncate(path, size)
        return self.getattr(node, body)

    def mkdir(self, node: int, body: bytes) -> bytes:
        os.mkdir(self.child(node, body[8:]))
        return self.entry(self.child(node, body[8:]))

    def unlink(self, node: int, body: bytes) -> bytes:
        os.unlink(self.child(node, body))
        self.forget(self.child(node, body))
        return b""

    def rmdir(self, node: int, body: bytes) -> bytes:
        os.rmdir(self.child(node, body))
        self.forget(self.child(node, body))
        return b""

    def forget(self, path: str) -> None:
        """A name that is made again is another node."""
        self.nodes.pop(path, None)

    def rename(self, node: int, body: bytes) -> bytes:
        """Requests of the second kind have flags and padding behind the folder."""
        skip = 16 if len(body) >= 16 and body[8:16] in (bytes(8), struct.pack("<II", 1, 0)) else 8
        (folder,) = struct.unpack_from("<Q", body)
        old, new = body[skip:].split(b"\0")[:2]
        source, target = self.child(node, old), self.child(folder, new)
        if skip == 16 and body[8] == 1 and os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, "exists")
        os.rename(source, target)
        self.listings.pop(self.paths[folder], None)
        self.forget(target)
        number = self.nodes.pop(source, 0)
        if number:
            self.paths[number], self.nodes[target] = target, number
        for path, inner in list(self.nodes.items()):
            if path.startswith(f"{source}/"):
                self.forget(path)
                self.paths[inner] = target + path[len(source) :]
                self.nodes[self.paths[inner]] = inner
        return b""

    def link(self, node: int, body: bytes) -> bytes:
        (source,) = struct.unpack_from("<Q", body)
        path = self.child(node, body[8:])
        os.link(self.paths[source], path)
        return self.entry(path)

    def open(self, node: int, body: bytes) -> bytes:
        (flags,) = struct.unpack_from("<I", body)
        return self.opened(os.open(self.paths[node], flags & ~(os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW)))

    def create(self, node: int, body: bytes) -> bytes:
        flags, mode = struct.unpack_from("<II", body)
        path = self.child(node, body[16:])
        file = os.open(path, flags | os.O_CREAT, stat.S_IMODE(mode))
        return self.entry(path) + self.opened(file)

    def opened(self, file: int) -> bytes:
        return struct.pack("<QII", file, 0, 0)

    def read(self, node: int, body: bytes) -> bytes:
        file, offset, size = struct.unpack_from("<QQI", body)
        return os.pread(file, size, offset)

    def write(self, node: int, body: bytes) -> bytes:
        file, offset, size = struct.unpack_from("<QQI", body)
        return struct.pack("<II", os.pwrite(file, body[40 : 40 + size], offset), 0)

    def fsync(self, node: int, body: bytes) -> bytes:
        os.fsync(struct.unpack_from("<Q", body)[0])
        return b""

    def release(self, node: int, body: bytes) -> bytes:
        os.close(struct.unpack_from("<Q", body)[0])
        return b""

    def opendir(self, node: int, body: bytes) -> bytes:
        return struct.pack("<QII", 0, 0, 0)

    def listing(self, path: str, anew: bool) -> list[str]:
        """Of a folder, at most so old, and younger than what this mount itself has changed there."""
        at, names = self.listings.get(path, (0.0, []))
        if anew and time.monotonic() - at > self.seconds:
            names = sorted(os.listdir(path))
            self.listings[path] = time.monotonic(), names
        return names

    def readdir(self, node: int, body: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", body)
        result = b""
        for number, name in enumerate([".", "..", *self.listing(self.paths[node], anew=offset == 0)]):
            raw = name.encode()
            record = struct.pack("<QQII", number + 1, number + 1, len(raw), 0) + raw
            record += bytes(-len(record) % 8)
            if number >= offset:
                if len(result) + len(record) > size:
                    break
                result += record
        return result

    def statfs(self, node: int, body: bytes) -> bytes:
        s = os.statvfs(self.paths[1])
        return struct.pack(
            "<QQQQQIIII24x",
            s.f_blocks,
            s.f_bfree,
            s.f_bavail,
            s.f_files,
            s.f_ffree,
            s.f_bsize,
            255,
            s.f_frsize,
            0,
        )

    def nothing(self, node: int, body: bytes) -> bytes:
        return b""


def main(folder: str, where: str, seconds: str) -> None:
    """Mounts, which only root may, and serves."""
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,default_permissions,allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"cached", where.encode(), b"fuse.cached", 0, options.encode()):
        raise OSError(ctypes.get_errno(), f"{where}: {os.strerror(ctypes.get_errno())}")
    print("mounted", flush=True)
    Mount(folder, float(seconds)).serve(device)


if __name__ == "__main__":
    main(*sys.argv[1:])
