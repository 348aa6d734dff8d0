"""The verbs of the API, in one shape for every kind: typed, untyped or metadata alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, TypeVar, overload

import msgspec

from kubewright.api import (
    FieldSelector,
    LabelSelector,
    ListMetadata,
    Resource,
    base_of,
    changes,
    decode,
    encode,
    field_selector_text,
    label_selector_text,
    read_version,
)
from kubewright.client.answer import is_status
from kubewright.client.caller import Caller
from kubewright.client.listing import Listing, ObjectList, decode_page, read_page
from kubewright.client.options import Patch, Propagation
from kubewright.client.requests import Requests
from kubewright.client.transport import Response
from kubewright.client.waiting import wait_gone, wait_until
from kubewright.client.watch import Capabilities, Watch
from kubewright.errors import Conflict, WasRead

__all__ = ["Verbs"]

R = TypeVar("R", bound=Resource)

_CONFLICTS = 5


class Verbs:
    """What can be done to objects of any kind. ``Client`` is the class to use."""

    def __init__(self, caller: Caller, requests: Requests, capabilities: Capabilities) -> None:
        self._caller = caller
        self._requests = requests
        self._capabilities = capabilities

    async def get(
        self, kind: type[R], name: str, *, namespace: str | None = None, resource_version: str | None = None
    ) -> R:
        """The object of that name; raises ``NotFound`` if there is none.

        ``resource_version`` asks for one not older than that revision (``"0"``: whatever the server has at hand).
        """
        query = {"resourceVersion": resource_version} if resource_version else None
        request = await self._requests.read("get", kind, namespace, name, query=query)
        return decode(kind, await self._caller.fetch(request))

    def list(
        self,
        kind: type[R],
        *,
        namespace: str | None = None,
        labels: str | Mapping[str, str] | LabelSelector | None = None,
        fields: str | Mapping[str, str] | FieldSelector | None = None,
        resource_version: str | None = None,
        match: str | None = None,
        page_size: int = 500,
        shard_selector: str | None = None,
    ) -> Listing[R]:
        """The objects that match: ``await`` it for all, or ``async for`` to fetch page by page.

        ``match`` says how to take ``resource_version``: ``Exact`` or ``NotOlderThan``. ``shard_selector`` asks for one
        shard of the objects, where the server can do that.
        """
        selection = _selection(labels, fields, shard_selector)
        if resource_version is not None:
            selection["resourceVersion"] = resource_version
        if match is not None:
            selection["resourceVersionMatch"] = match

        async def fetch(query: dict[str, Any]) -> bytes:
            # A continue token carries its revision; the server refuses both together.
            once = {} if "continue" in query else {"resourceVersion", "resourceVersionMatch"}
            kept = {key: value for key, value in selection.items() if key in once or not key.startswith("resource")}
            request = await self._requests.read("list", kind, namespace, query={**kept, **query})
            return await self._caller.fetch(request)

        return Listing(kind, fetch, page_size)

    def watch(
        self,
        kind: type[R],
        *,
        namespace: str | None = None,
        labels: str | Mapping[str, str] | LabelSelector | None = None,
        fields: str | Mapping[str, str] | FieldSelector | None = None,
        resource_version: str | None = None,
        idle_timeout: timedelta = timedelta(seconds=150),
        shard_selector: str | None = None,
    ) -> Watch[R]:
        """All objects that match, as ``ADDED``, and then their changes; or only the changes after a revision.

        See ``Watch`` for what is guaranteed when connections break.
        """
        selection = _selection(labels, fields, shard_selector)
        whole = self.list(kind, namespace=namespace, labels=labels, fields=fields, shard_selector=shard_selector)

        async def open_stream(query: dict[str, Any]) -> Response:
            query = {"watch": "true", **selection, **query}
            request = await self._requests.read("watch", kind, namespace, query=query)
            request.streaming = True
            return await self._caller.open(request)

        return Watch(
            kind,
            open=open_stream,
            list_pages=whole.raw_whole,
            capabilities=self._capabilities,
            resource_version=resource_version,
            idle_timeout=idle_timeout,
            dice=self._caller.dice,
        )

    async def create(self, obj: R) -> R:
        """The object as the server stored it; raises ``AlreadyExists`` if the name is taken."""
        request = await self._requests.write("create", type(obj), obj.namespace or None, body=encode(obj))
        return decode(type(obj), await self._caller.fetch(request))

    async def update(self, obj: R, *, subresource: str | None = None) -> R:
        """Send what was changed in an object since it was read; give it as the server stored it.

        With ``subresource="status"`` only changes of the status are sent. If nothing was changed nothing is sent.

        *Raises* ``Conflict`` if the object changed on the server since it was read, ``NotRead`` if it never was.
        """
        difference = changes(obj)
        if subresource == "status":
            difference = {"status": difference["status"]} if "status" in difference else {}
        if not difference:
            return obj
        metadata = {**(difference.get("metadata") or {}), "resourceVersion": read_version(obj)}
        body = msgspec.json.encode({**difference, "metadata": metadata})
        request = await self._requests.write(
            "patch", type(obj), obj.namespace or None, obj.name, subresource, body, "application/merge-patch+json"
        )
        return decode(type(obj), await self._caller.fetch(request))

    async def replace(self, obj: R, *, subresource: str | None = None) -> R:
        """Put the whole object in place of what the server has (HTTP PUT), where a verb or subresource wants that."""
        request = await self._requests.write(
            "update", type(obj), obj.namespace or None, obj.name, subresource, encode(obj)
        )
        return decode(type(obj), await self._caller.fetch(request))

    async def modify(self, kind: type[R], name: str, change: Callable[[R], None], *, namespace: str | None = None) -> R:
        """Read, change and update, again when somebody else was quicker; raises ``Conflict`` after five tries.

        ``change`` gets each time the object as it is now, and changes it in place. Status is not sent by this.
        """
        for _ in range(_CONFLICTS - 1):
            obj = await self.get(kind, name, namespace=namespace)
            change(obj)
            try:
                return await self.update(obj)
            except Conflict:
                continue
        obj = await self.get(kind, name, namespace=namespace)
        change(obj)
        return await self.update(obj)

    async def apply(self, obj: R, *, force: bool = False, subresource: str | None = None) -> R:
        """Server-side apply: make the object have the fields that ``obj`` states, and own them.

        Fields stated earlier by the same field manager and not now are removed. ``force`` takes fields over from
        other managers; without it ``ApplyConflict`` tells who owns which.

        *Raises* ``WasRead`` for an object that was read: its sender would come to own every field.
        """
        if base_of(obj) is not None:
            raise WasRead(
                f'{obj.kind} "{obj.name}" was read from the API server; apply would make its sender the owner of all '
                "its fields. Apply an object made in Python that states only what you mean, or update"
            )
        request = await self._requests.write(
            "apply",
            type(obj),
            obj.namespace or None,
            obj.name,
            subresource,
            encode(obj),
            "application/apply-patch+yaml",
        )
        if force:
            request.target += "&force=true"
        return decode(type(obj), await self._caller.fetch(request))

    async def wait_until(
        self,
        kind: type[R],
        name: str,
        predicate: Callable[[R], bool],
        *,
        namespace: str | None = None,
        within: timedelta = timedelta(seconds=30),
    ) -> R:
        """The object as soon as ``predicate`` holds for it; it need not be there yet.

        *Raises* ``WaitTimeout``, which says how it was last.
        """
        return await wait_until(kind, name, lambda: self._watch_one(kind, name, namespace), predicate, within)

    async def wait_gone(
        self,
        kind: type[R],
        name: str,
        *,
        namespace: str | None = None,
        within: timedelta = timedelta(seconds=30),
    ) -> None:
        """Return when there is no such object; raises ``WaitTimeout`` if it stays."""
        await wait_gone(kind, name, lambda: self._watch_one(kind, name, namespace), within)

    def _watch_one(self, kind: type[R], name: str, namespace: str | None) -> Watch[R]:
        return self.watch(kind, namespace=namespace, fields={"metadata.name": name})

    @overload
    async def patch(self, target: R, patch: Patch, *, subresource: str | None = None) -> R: ...
    @overload
    async def patch(
        self,
        target: type[R],
        patch: Patch,
        *,
        name: str,
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> R: ...
    async def patch(
        self,
        target: R | type[R],
        patch: Patch,
        *,
        name: str | None = None,
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> R:
        """Send a ``MergePatch``, ``StrategicPatch`` or ``JsonPatch`` for an object, given itself or by name."""
        kind, name, namespace = _place(target, name, namespace)
        body = msgspec.json.encode(patch.body)
        request = await self._requests.write("patch", kind, namespace, name, subresource, body, patch.content_type)
        return decode(kind, await self._caller.fetch(request))

    @overload
    async def delete(
        self,
        target: R,
        *,
        propagation: Propagation | None = None,
        grace: timedelta | None = None,
        unchanged: bool = False,
    ) -> R | None: ...
    @overload
    async def delete(
        self,
        target: type[R],
        name: str,
        *,
        namespace: str | None = None,
        propagation: Propagation | None = None,
        grace: timedelta | None = None,
    ) -> R | None: ...
    async def delete(
        self,
        target: R | type[R],
        name: str | None = None,
        *,
        namespace: str | None = None,
        propagation: Propagation | None = None,
        grace: timedelta | None = None,
        unchanged: bool = False,
    ) -> R | None:
        """Delete an object; give it back if its end is only pending (finalizers, grace), None if it is gone.

        Given itself, it must still be that very object (by uid), and with ``unchanged`` of the revision at which it was
        read, else ``Conflict``.
        """
        kind, name, namespace = _place(target, name, namespace)
        options = self._delete_options(propagation, grace)
        if isinstance(target, Resource) and target.metadata.uid:
            options["preconditions"] = {"uid": target.metadata.uid}
            if unchanged:
                options["preconditions"]["resourceVersion"] = read_version(target)
        request = await self._requests.write("delete", kind, namespace, name, body=msgspec.json.encode(options))
        answer = await self._caller.fetch(request)
        return None if is_status(answer) else decode(kind, answer)

    async def delete_all(
        self,
        kind: type[R],
        *,
        namespace: str | None = None,
        labels: str | Mapping[str, str] | LabelSelector | None = None,
        fields: str | Mapping[str, str] | FieldSelector | None = None,
        propagation: Propagation | None = None,
        grace: timedelta | None = None,
    ) -> ObjectList[R]:
        """Delete all objects that match, in one call (deletecollection); give them as they were."""
        body = msgspec.json.encode(self._delete_options(propagation, grace))
        request = await self._requests.write(
            "deletecollection", kind, namespace, body=body, query=_selection(labels, fields)
        )
        answer = await self._caller.fetch(request)
        if is_status(answer):
            return ObjectList(ListMetadata(), [], [])
        return decode_page(kind, read_page(answer))

    def _delete_options(self, propagation: Propagation | None, grace: timedelta | None) -> dict[str, Any]:
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if propagation is not None:
            options["propagationPolicy"] = propagation
        if grace is not None:
            options["gracePeriodSeconds"] = int(grace.total_seconds())
        if self._requests.options.dry_run:
            options["dryRun"] = ["All"]
        return options


def _selection(
    labels: str | Mapping[str, str] | LabelSelector | None,
    fields: str | Mapping[str, str] | FieldSelector | None,
    shard_selector: str | None = None,
) -> dict[str, Any]:
    query = {}
    if labels is not None:
        query["labelSelector"] = label_selector_text(labels)
    if fields is not None:
        query["fieldSelector"] = field_selector_text(fields)
    if shard_selector:
        query["shardSelector"] = shard_selector
    return query


def _place(target: R | type[R], name: str | None, namespace: str | None) -> tuple[type[R], str, str | None]:
    """Kind, name and namespace of a target given as an object, or as a kind and a name."""
    if isinstance(target, Resource):
        return type(target), target.name, target.namespace or None
    if not name:
        raise TypeError(f"which {target.__name__}? Give its name, or the object itself")
    return target, name, namespace
