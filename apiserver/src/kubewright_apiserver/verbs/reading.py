"""get and list."""

from __future__ import annotations

from typing import Any

from kubewright_apiserver.selectors import Selection, selection_of
from kubewright_apiserver.status import internal_error, not_found
from kubewright_apiserver.store import Row
from kubewright_apiserver.verbs.call import Call, Reply
from kubewright_apiserver.verbs.continuing import continue_token
from kubewright_apiserver.verbs.messages import listed_message, rendered_message
from kubewright_apiserver.verbs.rendering import listed, rendered
from kubewright_apiserver.verbs.revisions import check_list_options, moment_of, read_version, wait_for
from kubewright_apiserver.verbs.tabling import TableView

__all__ = ["found_rows", "get_object", "list_objects", "selection_for"]


async def get_object(call: Call) -> Reply:
    """The object at the call's address."""
    version = call.parameter("resourceVersion")
    if version and read_version(version):
        await wait_for(call, read_version(version))
    row = call.engine.table(call.served).get(call.key)
    if row is None:
        raise not_found(*call.conflict_name())
    if call.table:
        return Reply(200, TableView(call).of_row(row))
    shown = rendered_message if call.is_protobuf else rendered
    return Reply(200, shown(row, call.served, call.accept))


def selection_for(call: Call) -> Selection:
    """What the call's selectors select; an address with a name selects that one."""
    return selection_of(
        call.served,
        labels=call.parameter("labelSelector"),
        fields=call.parameter("fieldSelector"),
        name=call.address.name,
    )


async def list_objects(call: Call) -> Reply:
    """The objects that match, a page of them if a limit is given."""
    rows, metadata = await found_rows(call)
    if call.table:
        return Reply(200, TableView(call).of_rows(rows, metadata))
    shown = listed_message if call.is_protobuf else listed
    return Reply(200, shown(rows, call.served, call.accept, metadata))


async def found_rows(call: Call) -> tuple[list[Row], dict[str, Any]]:
    """The rows that a list is of, and what the list says of itself."""
    check_list_options(call)
    if call.address.namespace in (".", ".."):
        raise internal_error(f'invalid key: "/{call.served.plural}/{call.address.namespace}"')
    selection = selection_for(call)
    moment = await moment_of(call)
    store, table = call.engine.store, call.engine.table(call.served)
    prefix = f"{call.address.namespace}/" if call.address.namespace else ""
    rev = moment.rev or store.rev
    rows, more, remaining = _page(table, prefix, moment, selection)
    # Lists of custom resources say even that there is no next page.
    metadata: dict[str, Any] = {"continue": ""} if call.served.crd is not None else {}
    metadata["resourceVersion"] = str(rev)
    if more:
        metadata["continue"] = continue_token(rev, rows[-1].key[len(prefix) :] if prefix else rows[-1].key)
        if selection.is_everything:
            metadata["remainingItemCount"] = remaining
    return rows, metadata


def _page(table: Any, prefix: str, moment: Any, selection: Selection) -> tuple[list[Row], bool, int]:
    after = prefix + moment.after.lstrip("/") if moment.after is not None else None
    if selection.is_everything:
        page = table.list(prefix, rev=moment.rev, after=after, limit=moment.limit)
        return page.rows, page.more, page.remaining
    rows = [row for row in table.list(prefix, rev=moment.rev, after=after).rows if selection.matches(row.obj)]
    if moment.limit and len(rows) > moment.limit:
        return rows[: moment.limit], True, 0
    return rows, False, 0
