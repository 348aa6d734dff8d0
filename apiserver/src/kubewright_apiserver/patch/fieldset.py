"""``FieldSet``: which fields of an object somebody owns; the content of ``fieldsV1`` and the arithmetic on it.

Apply compares, unites and subtracts such sets; managers say who owns which.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final, TypeAlias

import orjson

from kubewright_apiserver.patch.element import MEMBER, canonical, in_order, printed_element

__all__ = ["EMPTY", "FieldSet", "Tree", "decoded", "marked", "united"]

Tree: TypeAlias = dict[str, Any]
"""A field set in the shape of ``fieldsV1``: element to subtree.

An empty subtree says that the element is in the set; one with parts says so only if it has the entry ``.``.
"""


def marked(tree: Tree) -> Tree:
    """The tree of something that is itself in the set, given the tree of its parts."""
    return tree if not tree or MEMBER in tree else {MEMBER: {}, **tree}


def united(one: Tree, other: Tree) -> Tree:
    """The tree of what is in one or in the other."""
    result = dict(one)
    for element, theirs in other.items():
        ours = result.get(element)
        if ours is None or ours is theirs:
            result[element] = theirs
        elif not ours or not theirs:
            result[element] = marked(ours or theirs)
        else:
            result[element] = united(ours, theirs)
    return result


def _difference(tree: Tree, other: Tree) -> Tree:
    result = {}
    for element, ours in tree.items():
        theirs = other.get(element)
        if theirs is None:
            result[element] = ours
        elif ours and theirs:
            rest = _difference(ours, theirs)
            if len(rest) > 1 or (rest and MEMBER not in rest):
                result[element] = rest
            elif rest:
                result[element] = {}
        elif ours:
            result[element] = {part: inner for part, inner in ours.items() if part != MEMBER}
        elif theirs and MEMBER not in theirs:
            result[element] = ours
    return result


def _recursive_difference(tree: Tree, other: Tree) -> Tree:
    result = {}
    for element, ours in tree.items():
        theirs = other.get(element)
        if theirs is None:
            result[element] = ours
        elif theirs and MEMBER not in theirs:
            rest = _recursive_difference(ours, theirs)
            if rest or not ours:
                result[element] = {} if len(rest) == 1 and MEMBER in rest else rest
    return result


def _intersection(tree: Tree, other: Tree) -> Tree:
    result = {}
    for element, ours in tree.items():
        theirs = other.get(element)
        if theirs is None:
            continue
        if ours and theirs:
            both = _intersection(ours, theirs)
            if both:
                result[element] = {} if len(both) == 1 and MEMBER in both else both
        elif (not ours or MEMBER in ours) and (not theirs or MEMBER in theirs):
            result[element] = {}
    return result


def _leaves(tree: Tree) -> Tree:
    return {element: _leaves(inner) for element, inner in tree.items() if element != MEMBER}


def _in_order(tree: Tree) -> Tree:
    return {element: _in_order(tree[element]) for element in in_order(tree)} if tree else {}


@lru_cache(maxsize=1024)
def _ordered(text: bytes) -> bytes:
    """The JSON of a tree in Kubernetes' order. Objects of one kind mostly have the same fields, in the same order."""
    return orjson.dumps(_in_order(orjson.loads(text)))


class FieldSet:
    """A set of fields. Sets are values: operations give new ones, and nobody changes a tree that is in one.

    A field and its parts are in a set independently: ``{"f:spec": {"f:replicas": {}}}`` has ``.spec.replicas`` alone.
    """

    __slots__ = ("_text", "fits", "tree")

    def __init__(self, tree: Tree) -> None:
        self.tree: Tree = tree
        """The set in the shape of ``fieldsV1``, elements spelled canonically, in no order. Not to be changed."""
        self.fits: object = None
        """The type that the set was last found to fit, so that it need not be looked through again."""
        self._text: bytes | None = None

    @classmethod
    def from_fields_v1(cls, fields: Any) -> FieldSet:
        """The set that ``fieldsV1`` says; elements of unknown kinds are left out.

        Raises ``ValueError`` for what is no such content.
        """
        return decoded(orjson.dumps(fields))

    @classmethod
    def of_paths(cls, *paths: Iterable[str]) -> FieldSet:
        """The set of these paths, each told by its field names: ``of_paths(("status",), ("metadata", "name"))``."""
        result = EMPTY
        for path in paths:
            tree: Tree = {}
            for name in reversed(list(path)):
                tree = {f"f:{name}": tree}
            result = result.union(FieldSet(tree))
        return result

    def to_fields_v1(self) -> Tree:
        """A fresh ``fieldsV1``, in Kubernetes' order."""
        if self._text is None:
            self._text = _ordered(orjson.dumps(self.tree))
        fields: Tree = orjson.loads(self._text)
        return fields

    def union(self, other: FieldSet) -> FieldSet:
        """What is in this set or in the other."""
        if not other.tree or not self.tree:
            return self if self.tree else other
        return FieldSet(united(self.tree, other.tree))

    def difference(self, other: FieldSet) -> FieldSet:
        """What is in this set and not in the other."""
        return FieldSet(_difference(self.tree, other.tree)) if other.tree and self.tree else self

    def recursive_difference(self, other: FieldSet) -> FieldSet:
        """What is in this set and neither in the other nor a part of something in the other."""
        return FieldSet(_recursive_difference(self.tree, other.tree)) if other.tree and self.tree else self

    def intersection(self, other: FieldSet) -> FieldSet:
        """What is in both sets."""
        return FieldSet(_intersection(self.tree, other.tree)) if other.tree else EMPTY

    def leaves(self) -> FieldSet:
        """What is in this set and has no part in it."""
        return FieldSet(_leaves(self.tree))

    def has(self, path: Iterable[str]) -> bool:
        """Whether this path of elements (``f:spec``, ``f:replicas``) is in the set."""
        tree = self.tree
        for element in path:
            inner = tree.get(element)
            if inner is None:
                return False
            tree = inner
        return tree is not self.tree and (not tree or MEMBER in tree)

    def __bool__(self) -> bool:
        return bool(self.tree)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldSet) and self.tree == other.tree

    def __iter__(self) -> Iterator[str]:
        """The paths as Kubernetes prints them: those of a level before those below it."""
        yield from _paths(self.tree, "")

    def __repr__(self) -> str:
        return f"<FieldSet {' '.join(self)}>"


def _paths(tree: Tree, prefix: str) -> Iterator[str]:
    elements = [element for element in in_order(tree) if element != MEMBER]
    for element in elements:
        if not tree[element] or MEMBER in tree[element]:
            yield prefix + printed_element(element)
    for element in elements:
        if tree[element]:
            yield from _paths(tree[element], prefix + printed_element(element))


EMPTY: Final = FieldSet({})


@lru_cache(maxsize=1024)
def decoded(text: bytes) -> FieldSet:
    """The set that the JSON of a ``fieldsV1`` says; the same text gives the same set again.

    Raises ``ValueError`` for what is no such content.
    """
    fields = orjson.loads(text)
    tree = {} if fields is None else _canonical_tree(fields)
    tree.pop(MEMBER, None)
    return FieldSet(tree)


def _canonical_tree(fields: Any) -> Tree:
    if not isinstance(fields, dict):
        raise ValueError(f"expected an object of fields, found {fields!r}")
    tree: Tree = {}
    for element, inner in fields.items():
        if element == MEMBER:
            tree[MEMBER] = {}
            continue
        spelled = canonical(element)
        if spelled is not None:
            tree[spelled] = _canonical_tree(inner) if inner is not None else {}
    return {} if len(tree) == 1 and MEMBER in tree else tree
