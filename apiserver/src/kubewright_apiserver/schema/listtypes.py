"""``compile_list_checker``: a schema as closures that find what is twice in lists of type set or map."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from kubewright_apiserver.golang import go_json
from kubewright_apiserver.status import FieldError, duplicate, invalid_field

__all__ = ["ListChecker", "compile_list_checker"]

ListChecker = Callable[[Any], list[FieldError]]
"""The errors of a value; their fields are paths from it."""

_NOTHING: Final[dict[str, Any]] = {}
_UNSET: Final = object()


def compile_list_checker(schema: dict[str, Any]) -> ListChecker | None:
    """What finds the errors; None if a value of the schema has no list that can have any."""
    of_objects = _object_checker(schema)
    of_lists = _list_checker(schema)
    if of_objects is None and of_lists is None:
        return None

    def check(value: Any) -> list[FieldError]:
        if type(value) is dict:
            return of_objects(value) if of_objects is not None else []
        if type(value) is list:
            return of_lists(value) if of_lists is not None else []
        return []

    return check


def _object_checker(schema: dict[str, Any]) -> ListChecker | None:
    compiled = {name: compile_list_checker(inner) for name, inner in (schema.get("properties") or _NOTHING).items()}
    fields = {name: check for name, check in compiled.items() if check is not None}
    others = schema.get("additionalProperties")
    check_other = compile_list_checker(others) if isinstance(others, dict) else None
    if not fields and check_other is None:
        return None

    def check_object(value: dict[str, Any]) -> list[FieldError]:
        errors: list[FieldError] = []
        if check_other is not None:
            for key, inner in value.items():
                errors += _below(f"[{key}]", check_other(inner))
        for name, check in fields.items():
            inner = value.get(name)
            if inner is not None:
                errors += _below(name, check(inner))
        return errors

    return check_object


def _list_checker(schema: dict[str, Any]) -> ListChecker | None:
    kind = schema.get("x-kubernetes-list-type")
    items = schema.get("items")
    check_item = compile_list_checker(items) if isinstance(items, dict) else None
    keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
    if kind not in ("set", "map") and check_item is None:
        return None

    def check_list(value: list[Any]) -> list[FieldError]:
        errors: list[FieldError] = []
        if kind == "set":
            errors += [duplicate(f"[{index}]", value[index]) for index in _repeated(map(_identity, value))]
        elif kind == "map" and not _is_plainly_unique(value, keys):
            errors += _map_errors(value, keys)
        if check_item is not None:
            for index, item in enumerate(value):
                errors += _below(f"[{index}]", check_item(item))
        return errors

    return check_list


def _below(step: str, errors: list[FieldError]) -> Iterator[FieldError]:
    for error in errors:
        yield error._replace(field=f"{step}{'' if error.field[:1] == '[' else '.'}{error.field}")


def _is_plainly_unique(value: list[Any], keys: tuple[str, ...]) -> bool:
    """Whether keys are there, and no two are even nearly the same; what is not so needs a closer look."""
    try:
        if len(keys) == 1:
            key = keys[0]
            return len({item[key] for item in value}) == len(value)
        return len({tuple(item[key] for key in keys) for item in value}) == len(value)
    except (KeyError, TypeError, IndexError):
        return False


def _map_errors(value: list[Any], keys: tuple[str, ...]) -> list[FieldError]:
    for index, item in enumerate(value):
        if item is not None and not isinstance(item, dict):
            return [invalid_field(f"[{index}]", item, "must be an object for an array of list-type map")]
    found = [{key: item[key] for key in keys if key in item} if item else {} for item in value]
    identities = (_identity(one.get(keys[0], _UNSET)) if len(keys) == 1 else go_json(one) for one in found)
    return [duplicate(f"[{index}]", found[index]) for index in _repeated(identities)]


def _repeated(identities: Iterable[Any]) -> list[int]:
    """The places where something is for the second time; the third is not told."""
    times: dict[Any, int] = {}
    places = []
    for index, identity in enumerate(identities):
        times[identity] = times.get(identity, 0) + 1
        if times[identity] == 2:
            places.append(index)
    return places


def _identity(item: Any) -> Any:
    return go_json(item) if isinstance(item, dict | list) else (type(item), item)
