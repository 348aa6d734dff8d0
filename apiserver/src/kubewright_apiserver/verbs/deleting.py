"""delete and deletecollection: at once, after a grace, or when the last finalizer is gone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from kubewright_apiserver.body import read_options
from kubewright_apiserver.golang import go_quoted
from kubewright_apiserver.json_tree import MalformedJson, read_tree
from kubewright_apiserver.registry.behaviours import behaviour_of
from kubewright_apiserver.schema.decoding import read_message
from kubewright_apiserver.schema.go_types import go_type_of
from kubewright_apiserver.schema.identity import Identity, identity_in, with_defaults
from kubewright_apiserver.schema.mismatch import Undecodable, read_strictly
from kubewright_apiserver.status import (
    FieldError,
    bad_request,
    conflict,
    invalid,
    invalid_field,
    not_found,
    not_supported,
)
from kubewright_apiserver.store import Row, Stale
from kubewright_apiserver.verbs.admission import admit_delete
from kubewright_apiserver.verbs.call import Call, Reply
from kubewright_apiserver.verbs.reading import found_rows
from kubewright_apiserver.verbs.rendering import internal_at, listed, rendered, shown_stored
from kubewright_apiserver.verbs.revisions import check_form

__all__ = ["DeleteOptions", "check_preconditions", "delete_collection", "delete_object", "delete_row", "options_in"]

_OPTIONS: Final = Identity("meta.k8s.io", "v1", "DeleteOptions")
_OPTIONS_TYPE: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
_ORPHAN: Final = "orphan"
_FOREGROUND: Final = "foregroundDeletion"
_JOB_WARNING: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)


class DeleteOptions:
    """How to delete: with which grace, what becomes of dependents, and on which conditions."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.grace: int | None = document.get("gracePeriodSeconds")
        self.orphans: bool | None = document.get("orphanDependents")
        self.propagation: str | None = document.get("propagationPolicy")
        self.preconditions: dict[str, str] = document.get("preconditions") or {}
        self.dry_run: list[str] = document.get("dryRun") or []
        if self.grace is not None and self.grace < 0:
            self.grace = 1

    def check(self) -> None:
        """Refuse values that mean nothing, or not together."""
        errors: list[FieldError] = []
        if self.orphans is not None and self.propagation is not None:
            detail = "orphanDependents and deletionPropagation cannot be both set"
            errors.append(invalid_field("propagationPolicy", self.propagation, detail))
        known = ("Foreground", "Background", "Orphan")
        if self.propagation is not None and self.propagation not in known:
            errors.append(not_supported("propagationPolicy", self.propagation, [*known, "nil"]))
        if any(value != "All" for value in self.dry_run):
            errors.append(not_supported("dryRun", self.dry_run, ["All"]))
        if errors:
            raise invalid("meta.k8s.io", "DeleteOptions", "", errors)


def options_in(call: Call) -> DeleteOptions:
    """The options in the body, or else in the query."""
    options = DeleteOptions(_from_body(call) if call.body else _from_query(call))
    options.check()
    return options


def _from_body(call: Call) -> dict[str, Any]:
    body = read_options(call.body, call.headers.get("content-type", ""))
    try:
        identity = with_defaults(identity_in(body.value), _OPTIONS)
        if identity.kind != _OPTIONS.kind:
            of = f"no kind {go_quoted(identity.kind)} is registered for version {go_quoted(identity.group_version)}"
            raise Undecodable(f'{of} in scheme "pkg/runtime/scheme.go:111"')
        if body.message is not None:
            return read_message(body, go_type_of(_OPTIONS_TYPE))
        document: dict[str, Any] | None = read_strictly(read_tree(body.json), go_type_of(_OPTIONS_TYPE))[0]
    except Undecodable as error:
        raise bad_request(str(error)) from None
    except MalformedJson as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    return document or {}


def _from_query(call: Call) -> dict[str, Any]:
    document: dict[str, Any] = {"dryRun": list(call.query.get("dryRun", ()))}
    if "gracePeriodSeconds" in call.query:
        document["gracePeriodSeconds"] = call.number("gracePeriodSeconds")
    if "propagationPolicy" in call.query:
        document["propagationPolicy"] = call.parameter("propagationPolicy")
    if "orphanDependents" in call.query:
        document["orphanDependents"] = call.flag("orphanDependents")
    wanted = {name: call.parameter(name) for name in ("uid", "resourceVersion") if call.parameter(name)}
    return {**document, "preconditions": wanted}


async def delete_object(call: Call) -> Reply:
    """Delete the object at the call's address, or begin to."""
    options = options_in(call)
    row = call.engine.table(call.served).get(call.key)
    if row is None:
        raise not_found(*call.conflict_name())
    if (
        (call.served.group, call.served.plural) == ("batch", "jobs")
        and options.propagation is None
        and options.orphans is None
    ):
        call.warnings.append(_JOB_WARNING)
    return await delete_row(call, row, options)


async def delete_row(call: Call, row: Row, options: DeleteOptions) -> Reply:
    """Delete a stored object, or begin to; again from its newer state if somebody changed it meanwhile."""
    table = call.engine.table(call.served)
    while True:
        try:
            return await _Deletion(call, row, options).carry_out()
        except Stale as stale:
            if stale.current is None:
                raise not_found(*call.conflict_name()) from None
            found = table.get(row.key)
            if found is None:
                raise not_found(*call.conflict_name()) from None
            row = found


def check_preconditions(options: DeleteOptions, group: str, kind: str, metadata: dict[str, Any]) -> None:
    """Refuse if the object is not the one, or not in the state, that the client means."""
    wanted = options.preconditions
    named = (group, kind, metadata["name"])
    uid, version = wanted.get("uid"), wanted.get("resourceVersion")
    if uid is not None and uid != metadata["uid"]:
        why = (
            f"the UID in the precondition ({uid}) does not match the UID in record ({metadata['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise conflict(*named, why)
    if version is not None and version != metadata["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record "
            f"({metadata['resourceVersion']}). The object might have been modified"
        )
        raise conflict(*named, why)


class _Deletion:
    """One attempt to delete a stored state of an object."""

    def __init__(self, call: Call, row: Row, options: DeleteOptions) -> None:
        self._call = call
        self._row = row
        self._options = options
        self._behaviour = behaviour_of(call.served)
        self._obj = internal_at(row, call.served)
        self._metadata: dict[str, Any] = self._obj["metadata"]
        self._is_dry = bool(options.dry_run)

    async def carry_out(self) -> Reply:
        admit_delete(self._call, self._obj)
        check_preconditions(self._options, self._call.served.group, self._call.served.kind, self._metadata)
        if self._behaviour.begin_deletion(self._obj, self._call.engine.timestamp()):
            return await self._pend()
        grace = self._grace()
        if grace == "pending":
            return self._reply(self._row, is_gone=False)
        self._set_finalizers()
        if grace == "none":
            if not self._metadata.get("finalizers"):
                return await self._end(self._row)
            self._mark()
            return await self._pend()
        if self._metadata.get("finalizers") or self._metadata["deletionGracePeriodSeconds"] > 0:
            return await self._pend()
        if self._is_dry and self._behaviour.strategy.returns_deleted:
            return await self._pend()
        # A deletion without grace of what could have one is told in two steps, as watchers know it.
        row = await self._put()
        return await self._end(row)

    def _grace(self) -> str:
        """``none`` for kinds and states without a grace, ``pending`` if it runs already, ``set`` if it begins now."""
        metadata, options = self._metadata, self._options
        if not self._behaviour.strategy.dies_gracefully:
            return "none"
        if "deletionTimestamp" in metadata:
            return self._shortened()
        seconds = self._behaviour.grace_for(self._obj, options.grace)
        if seconds is None:
            return "none"
        ends = self._call.engine.now() + timedelta(seconds=seconds)
        metadata["deletionTimestamp"] = ends.strftime("%Y-%m-%dT%H:%M:%SZ")
        metadata["deletionGracePeriodSeconds"] = seconds
        self._bump()
        return "set"

    def _shortened(self) -> str:
        """What a further delete does to a grace that runs: it may only become shorter."""
        metadata = self._metadata
        running = metadata.get("deletionGracePeriodSeconds") or 0
        if running == 0:
            return "none"
        wanted = self._options.grace
        if wanted is None or wanted >= running:
            return "pending"
        ended = datetime.strptime(metadata["deletionTimestamp"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        ends = ended - timedelta(seconds=running) + timedelta(seconds=wanted)
        now = self._call.engine.now()
        if ends < now:
            ends, wanted = now, 1 if wanted else 0
        metadata["deletionTimestamp"] = ends.strftime("%Y-%m-%dT%H:%M:%SZ")
        metadata["deletionGracePeriodSeconds"] = wanted
        return "set"

    def _set_finalizers(self) -> None:
        """Ask the garbage collector to orphan or to delete dependents first, if that is wanted."""
        found = self._metadata.get("finalizers", [])
        kept = [finalizer for finalizer in found if finalizer not in (_ORPHAN, _FOREGROUND)]
        if self._orphans(found):
            kept.append(_ORPHAN)
        elif self._waits_for_dependents(found):
            kept.append(_FOREGROUND)
        if set(kept) == set(found):
            return
        if kept:
            self._metadata["finalizers"] = kept
        else:
            self._metadata.pop("finalizers", None)

    def _orphans(self, finalizers: list[str]) -> bool:
        if self._options.orphans is not None:
            return self._options.orphans
        if self._options.propagation is not None:
            return self._options.propagation == "Orphan"
        if _ORPHAN in finalizers or _FOREGROUND in finalizers:
            return _ORPHAN in finalizers
        return self._behaviour.strategy.propagation == "Orphan"

    def _waits_for_dependents(self, finalizers: list[str]) -> bool:
        if self._options.orphans is not None:
            return False
        if self._options.propagation is not None:
            return self._options.propagation == "Foreground"
        return _FOREGROUND in finalizers

    def _mark(self) -> None:
        """Begin the deletion of what has no grace: from now on finalizers are waited for."""
        metadata = self._metadata
        now = self._call.engine.timestamp()
        if "deletionTimestamp" not in metadata:
            self._bump()
        if metadata.get("deletionTimestamp", "9999") > now:
            metadata["deletionTimestamp"] = now
        metadata["deletionGracePeriodSeconds"] = 0

    def _bump(self) -> None:
        if self._metadata.get("generation"):
            self._metadata["generation"] += 1

    async def _pend(self) -> Reply:
        if self._is_dry:
            stored = self._behaviour.to_storage(self._obj)
            return Reply(200, shown_stored(stored, self._call.served, self._call.accept))
        if self._obj == internal_at(self._row, self._call.served):
            return self._reply(self._row, is_gone=False)
        return self._reply(await self._put(), is_gone=False)

    async def _put(self) -> Row:
        if self._is_dry:
            return self._row
        stored = self._behaviour.to_storage(self._obj)
        return await self._call.engine.store.put(self._row.table, self._row.key, stored, expected=self._row.rev)

    async def _end(self, row: Row) -> Reply:
        if self._is_dry:
            return self._reply(row, is_gone=True)
        stored = self._behaviour.to_storage(internal_at(row, self._call.served))
        gone = await self._call.engine.store.delete(row.table, row.key, stored, expected=row.rev)
        self._behaviour.forget(self._obj, self._call)
        if self._behaviour.has_consequences:
            await self._behaviour.follow(None, self._obj, self._call)
        return self._reply(gone, is_gone=True)

    def _reply(self, row: Row, *, is_gone: bool) -> Reply:
        status = 202 if not is_gone and self._options.orphans is False else 200
        if not is_gone or self._behaviour.strategy.returns_deleted:
            return Reply(status, rendered(row, self._call.served, self._call.accept))
        return Reply(status, _success(self._call, self._metadata))


def _success(call: Call, metadata: dict[str, Any]) -> dict[str, Any]:
    details = {"name": metadata["name"], "group": call.served.group, "kind": call.served.plural, "uid": metadata["uid"]}
    told = {key: value for key, value in details.items() if value}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": told}


async def delete_collection(call: Call) -> Reply:
    """Delete every object that matches, or a page of them; the list of them as they were."""
    check_form(call)
    options = options_in(call)
    rows, metadata = await found_rows(call)
    for row in rows:
        single = call.at(call.address._replace(name=row.obj["metadata"]["name"]))
        await delete_row(single, row, options)
    return Reply(200, listed(rows, call.served, call.accept, metadata))
