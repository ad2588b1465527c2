"""Objects below one URI of an S3 API: what logs need of it. Every name is written whole or not at all."""

from __future__ import annotations

import json
import mmap
import re
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    NotSupportedError,
    PermissionDeniedError,
    UnauthenticatedError,
)
from obstore.store import S3Store
from weir_placement.model.fragment import FragmentError
from weir_placement.model.location import SCHEME

from weir_runtime import secrets
from weir_runtime.bodies import on_disk
from weir_runtime.names import SIZE

PATIENT = (timedelta(seconds=30), timedelta(seconds=60))
"""Longest request, and how long it is tried again, where nothing can go on without. One that carries more
than gets through at `SLOWEST` has twice as long, or four times, and so on."""
QUICK = (timedelta(seconds=2), timedelta(0))
"""The same where the thread has other things to do, as to renew a lease, and asks again by itself."""

SLOWEST = 128 * 2**10
"""[bytes/s] of a link over which everything still gets through."""

PART = 2 * 2**20
"""[bytes] of a body that are asked for at once: what the slowest link brings in the time of a request."""

LARGEST = 5 * 2**30
"""[bytes] that S3 takes in one put; not all stores know one in parts that fails where the name is taken."""

UPLOAD = 5 * 2**20
"""[bytes] of the parts in which a file is put, at least; S3 takes none that is smaller."""
UPLOADS = 4
"""Parts that are put at the same time."""
MOST_UPLOADS = 10_000
"""Parts that S3 takes of one object."""

SECRET_LIFE = timedelta(minutes=10)
"""Keys are read again from the mounted Secret after at most this."""

TRIES = 6
"""Attempts to create a name that the store refuses as taken although it is not there."""
AGAIN = 0.02
"""[s] before the second of them, twice as long before each later one: a rival's is still under way."""

SILENT = 60.0
"""[s] after which a store that does not answer ends the process of who reads: its state says why."""

RIVALS = 4
"""Writers of one name in a probe."""

NOT_IMPLEMENTED = "501 Not Implemented"
"""In what a store answers that knows no conditional put."""

ObjectBody = bytes | mmap.mmap | obstore.Bytes
"""Buffers that have a length."""

CODE = re.compile("<Code>([A-Za-z]+)</Code>")

WRONG = (FileNotFoundError, NotSupportedError, PermissionDeniedError, UnauthenticatedError)

_clients: dict[str, S3Store] = {}
_lock = Lock()


class StoreError(RuntimeError):
    """What was not done, and why; the store may do it when it is asked again."""

    retriable = True


class Denied(StoreError):
    """What it will not do: no such bucket, no rights in it, or it cannot."""

    retriable = False


class Patience:
    """Of a reader: a store that does not answer has nothing new, for a while; then the process must fail."""

    def __init__(self) -> None:
        self._since: float | None = None  # [s, monotonic] when it fell silent

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Passes over a StoreError, unless the store has been silent for longer than `SILENT`."""
        try:
            yield
            self._since = None
        except Denied:
            raise
        except StoreError:
            now = time.monotonic()
            self._since = now if self._since is None else self._since
            if now - self._since > SILENT:
                raise


class ObjectStore:
    """Objects of one flow, source, sink or policy. Can be sent to other processes; keys are never in it.

    Args:
        uri: `s3://bucket/path`.
        options: endpoint, region, secretRef, caSecretRef as in manifests.md; each may be left out. Without
            secretRef the process's surroundings say who it is: variables `AWS_*`, its service account, its
            machine.
        quick: fails soon, where others try again.
    """

    def __init__(self, uri: str, options: Mapping[str, Any], quick: bool = False) -> None:
        self.uri = uri.rstrip("/")
        self.options = dict(options)
        self._quick = quick
        self._bucket, _, path = self.uri.removeprefix(SCHEME).partition("/")
        self._path = f"{path}/" if path else ""

    def quick(self) -> ObjectStore:
        """The same, for a thread that must not wait."""
        return ObjectStore(self.uri, self.options, quick=True)

    def longest(self, size: int) -> timedelta:
        """How long a request may take that carries so many bytes."""
        request = self._waits[0]
        while request.total_seconds() * SLOWEST < size:
            request *= 2
        return request

    def create(self, name: str, body: ObjectBody, about: Mapping[str, str] | None = None) -> bool:
        """Puts an object unless the name is taken; whether it did. `about`: small values beside the body,
        which is not copied. Raises Denied for one that is larger than `LARGEST`.

        Of several at the same time one succeeds. A store may refuse one because another was under way, which
        then failed: so a name that is taken must be there.
        """
        if len(body) > LARGEST:
            raise Denied(
                f"{self.uri}/{name}: {len(body)} bytes in one batch; a store takes at most {LARGEST} in one "
                "put, and only one put is refused where the name is taken; give these rows another place, a "
                "folder or a topic"
            )
        put = partial(obstore.put, attributes=dict(about or {}), mode="create", use_multipart=False)
        for attempt in range(TRIES):
            if attempt:
                time.sleep(AGAIN * 2 ** (attempt - 1))
            try:
                with self._asking():
                    put(self._client(len(body)), self._path + name, body)
                return True
            except AlreadyExistsError:
                if self.about(name) is not None:
                    return False
        raise StoreError(
            f"{self.uri}/{name}: the store refuses to create it as it exists, but has "
            f"none when read ({TRIES} tries); it must honour If-None-Match, and reads must see writes"
        )

    def put(self, name: str, text: str) -> None:
        """Puts an object in the place of one that may be there."""
        with self._asking():
            obstore.put(self._client(), self._path + name, text.encode(), use_multipart=False)

    def put_file(self, name: str, path: Path) -> None:
        """Puts a file's content, of any size, in the place of an object that may be there."""
        part = max(UPLOAD, -(-path.stat().st_size // MOST_UPLOADS))
        with self._asking():
            client = self._client(UPLOADS * part)
            obstore.put(client, self._path + name, path, chunk_size=part, max_concurrency=UPLOADS)

    def fetch(self, name: str, path: Path) -> None:
        """Writes the body to a file. Raises Denied when there is no such object."""
        with self._asking(), open(path, "wb") as file:
            file.writelines(part for part, _ in self._parts(name))

    def about(self, name: str) -> dict[str, str] | None:
        """The attributes beside the body, and its `SIZE`; None when there is no such object."""
        with self._asking(), suppress(FileNotFoundError):
            answer = obstore.get(self._client(), self._path + name, options={"head": True})
            attributes = {str(key).lower(): str(value) for key, value in answer.attributes.items()}
            return {**attributes, SIZE: str(answer.meta["size"])}
        return None

    def read(self, name: str) -> ObjectBody | None:
        """The body, of more than a `PART` mapped from a file; None when there is no such object."""
        parts = self._parts(name)
        with self._asking():
            try:
                first, size = next(parts, (b"", 0))
            except FileNotFoundError:
                return None
            if len(first) == size:
                return first
            body = chain([first], (part for part, _ in parts))
            return on_disk(lambda file: file.writelines(body))

    def _parts(self, name: str) -> Iterator[tuple[obstore.Bytes, int]]:
        """An object's bytes, part by part, and how many it has in all; of an empty one, nothing. Each part
        has the time of a request, so the slower the link is the longer all of them may take."""
        at, size, same = 0, 1, dict[str, str]()
        while at < size:
            try:
                answer, part = self._part(name, {"range": (at, at + PART), **same})
            except BaseError:
                if at == 0 and (self.about(name) or {}).get(SIZE) == "0":
                    return  # of nothing there is no range
                raise
            size, tag = answer.meta["size"], answer.meta["e_tag"]
            same = {"if_match": tag} if tag else {}
            at += len(part)
            yield part, size

    def _part(self, name: str, options: Any) -> tuple[obstore.GetResult, obstore.Bytes]:
        """The library asks again where there is no answer, but not where one ends in the middle."""
        until = time.monotonic() + self._waits[1].total_seconds()
        while True:
            answer = obstore.get(self._client(), self._path + name, options=options)
            try:
                return answer, answer.bytes()
            except BaseError:
                if time.monotonic() >= until:
                    raise
                time.sleep(AGAIN)

    def read_json(self, name: str) -> Any | None:
        """The value in the body; None when there is no such object."""
        body = self.read(name)
        return None if body is None else json.loads(bytes(body))

    def names(self, folder: str = "", after: str = "") -> Iterator[str]:
        """Names below a folder (`a/b`), in their order, those up to `after` left out; asked for a thousand
        at a time."""
        return (name for name, _ in self.sizes(folder, after))

    def sizes(self, folder: str = "", after: str = "") -> Iterator[tuple[str, int]]:
        """As `names`, each with its object's size [bytes]."""
        offset = self._path + after if after else None
        prefix = self._path + folder
        with self._asking():
            for some in obstore.list(self._client(), prefix=prefix or None, offset=offset):
                for item in some:
                    yield item["path"].removeprefix(self._path), item["size"]

    def folders(self) -> list[str]:
        """Names of what is right below, and has objects below it."""
        with self._asking():
            below = obstore.list_with_delimiter(self._client(), prefix=self._path or None)
        return sorted(path.rstrip("/").removeprefix(self._path) for path in below["common_prefixes"])

    def delete(self, names: Sequence[str]) -> None:
        """Objects that are not there are no error."""
        if not names:
            return
        with self._asking():
            obstore.delete(self._client(), [self._path + name for name in names])

    def probe(self, field: str = "exchange.files.uri") -> None:
        """Raises FragmentError unless the store refuses to write a name that is taken: of several writers at
        the same time, all but one; and for a bucket or keys that are not right. Raises StoreError when it
        does not answer."""
        name = f"_probe-{uuid.uuid4().hex}"  # sorts behind batches; readers of a sink look past it
        try:
            with ThreadPoolExecutor(RIVALS) as pool:
                created = list(pool.map(lambda i: self.create(name, str(i).encode()), range(RIVALS)))
            created.append(self.create(name, b"again"))
        except Denied as error:
            raise FragmentError(f"{field}: {error}") from error
        if sum(created) != 1:
            raise FragmentError(
                f"{field}: {self.uri}: the store overwrites what `If-None-Match: *` forbids "
                f"({sum(created)} of {len(created)} writers of one name succeeded), so a batch could be "
                "lost; use a store with conditional writes, or files on a claim, or Kafka"
            )
        self.delete([name])

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """The library's errors as ours: theirs go on, after their first line, with how it was asked."""
        try:
            yield
        except AlreadyExistsError:
            raise
        except (BaseError, FileNotFoundError) as error:
            message, _, answer = str(error).partition("\n")
            code = CODE.search(answer)
            message = message.split(": <?xml")[0] + (f", {code[1]}" if code else "")
            never = isinstance(error, WRONG) or NOT_IMPLEMENTED in message
            raise (Denied if never else StoreError)(f"{self.uri}: {message}") from error

    @property
    def _waits(self) -> tuple[timedelta, timedelta]:
        return QUICK if self._quick else PATIENT

    def _client(self, size: int = 0) -> S3Store:
        """For requests that carry at most so many bytes."""
        waits = (self.longest(size), self._waits[1])
        key = json.dumps(
            [self._bucket, self.options, [wait.total_seconds() for wait in waits]], sort_keys=True
        )
        with _lock:
            if key not in _clients:
                _clients[key] = _connect(self._bucket, self.options, waits)
            return _clients[key]


def _connect(bucket: str, options: Mapping[str, Any], waits: tuple[timedelta, timedelta]) -> S3Store:
    request, again = waits
    endpoint, secret, authority = (options.get(key) for key in ("endpoint", "secretRef", "caSecretRef"))
    client: dict[str, Any] = {"timeout": request, "connect_timeout": min(request, timedelta(seconds=5))}
    if endpoint and endpoint.startswith("http://"):
        client["allow_http"] = True
    if authority:
        client["root_certificate"] = _secret(authority, "ca.crt", "caSecretRef")
    settings: dict[str, Any] = {"endpoint": endpoint, "region": options.get("region")}
    if secret:
        settings["credential_provider"] = _Keys(secret)
    return S3Store(
        bucket,
        client_options=client,  # type: ignore[arg-type]  # a TypedDict
        retry_config={"max_retries": 10 if again else 0, "retry_timeout": again},
        **{key: value for key, value in settings.items() if value},
    )


class _Keys:
    """Reads the mounted Secret, again and again: a rotated one is used without a restart."""

    def __init__(self, secret: str) -> None:
        self._secret = secret
        self()

    def __call__(self) -> Any:
        token = secrets.FOLDER / self._secret / "AWS_SESSION_TOKEN"
        return {
            "access_key_id": _secret(self._secret, "AWS_ACCESS_KEY_ID", "secretRef"),
            "secret_access_key": _secret(self._secret, "AWS_SECRET_ACCESS_KEY", "secretRef"),
            "token": token.read_text().strip() if token.exists() else None,
            "expires_at": datetime.now(UTC) + SECRET_LIFE,
        }


def _secret(name: str, key: str, field: str) -> str:
    return secrets.value(name, key, f"exchange.files.s3.{field}").strip()
