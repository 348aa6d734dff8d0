"""Lists: one page after another, whole if awaited, object by object if iterated."""

from __future__ import annotations

import gc
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import msgspec

from kubewright.api import ListMetadata, Resource, decode
from kubewright.errors import Gone, ProtocolError, Undecodable

__all__ = ["Listing", "ObjectList", "RawPage", "without_collecting"]

R = TypeVar("R", bound=Resource)

_log = logging.getLogger("kubewright.client")


class RawPage(msgspec.Struct):
    """A page as the server sent it: metadata, and each item's bytes."""

    metadata: ListMetadata
    items: list[msgspec.Raw] | None = None


_page = msgspec.json.Decoder(RawPage)


def read_page(data: bytes) -> RawPage:
    """Split a list into the bytes of its items, undecoded."""
    try:
        return _page.decode(data)
    except msgspec.DecodeError as error:
        raise ProtocolError(f"the list is not whole or not a Kubernetes list: {error}") from None


class ObjectList(Generic[R]):
    """Objects of one kind as they were at one revision.

    ``undecodable`` holds an error for each object that does not fit its Python type; the others are in ``items``.
    """

    __slots__ = ("continue_", "items", "remaining_item_count", "resource_version", "undecodable")

    def __init__(self, metadata: ListMetadata, items: list[R], undecodable: list[Undecodable]) -> None:
        self.resource_version: str = metadata.resource_version
        self.continue_: str = metadata.continue_
        self.remaining_item_count: int | None = metadata.remaining_item_count
        self.items: list[R] = items
        self.undecodable: list[Undecodable] = undecodable

    def __iter__(self) -> Iterator[R]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> R:
        return self.items[index]

    def __repr__(self) -> str:
        return f"<ObjectList of {len(self.items)} at {self.resource_version or '?'}>"


def decode_page(kind: type[R], page: RawPage) -> ObjectList[R]:
    """A page with its objects decoded; one that does not fit its type is told and left out."""
    items: list[R] = []
    undecodable: list[Undecodable] = []
    with without_collecting():
        for raw in page.items or ():
            try:
                # A copy, so that one object kept does not keep the whole page in memory.
                items.append(decode(kind, bytes(raw)))
            except Undecodable as error:
                _log.error("left out of a list: %s", error)
                undecodable.append(error)
    return ObjectList(page.metadata, items, undecodable)


@contextmanager
def without_collecting() -> Iterator[None]:
    """No cyclic garbage collection inside the block, which must not await.

    Nothing that a page decodes into is garbage yet; looking for some takes three times as long as the decoding.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Listing(Generic[R]):
    """A list that has not been asked for yet.

    ``await`` it for everything at once, as an ``ObjectList``; ``async for`` gives object by object and fetches page
    by page; ``pages()`` gives the pages.
    """

    def __init__(self, kind: type[R], fetch: Callable[[dict[str, Any]], Awaitable[bytes]], page_size: int) -> None:
        self._kind = kind
        self._fetch = fetch
        self._page_size = page_size

    def __await__(self) -> Generator[Any, None, ObjectList[R]]:
        return self._whole().__await__()

    async def __aiter__(self) -> AsyncIterator[R]:
        async for page in self.pages():
            for obj in page.items:
                yield obj

    async def pages(self) -> AsyncIterator[ObjectList[R]]:
        """The pages, each an ``ObjectList``; all are of one revision.

        *Raises* ``Gone`` when a page is asked for so late that the server has forgotten that revision.
        """
        async for page in self.raw_pages():
            yield decode_page(self._kind, page)

    async def raw_pages(self) -> AsyncGenerator[RawPage, None]:
        """The pages with their objects as the server sent them."""
        query: dict[str, Any] = {"limit": self._page_size} if self._page_size else {}
        while True:
            page = read_page(await self._fetch(query))
            yield page
            if not page.metadata.continue_:
                return
            query = {"limit": self._page_size, "continue": page.metadata.continue_}

    async def raw_whole(self) -> list[RawPage]:
        """All pages; if the revision of the first is forgotten meanwhile, everything anew in one piece."""
        try:
            return [page async for page in self.raw_pages()]
        except Gone:
            return [read_page(await self._fetch({}))]

    async def _whole(self) -> ObjectList[R]:
        try:
            pages = [page async for page in self.pages()]
        except Gone:
            pages = [decode_page(self._kind, read_page(await self._fetch({})))]
        if len(pages) == 1:
            return pages[0]
        metadata = ListMetadata(resource_version=pages[-1].resource_version)
        items = [obj for page in pages for obj in page.items]
        return ObjectList(metadata, items, [error for page in pages for error in page.undecodable])
