"""``Conflicts``: fields that an intent would change and that others own, told in the server's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kubewright_apiserver.patch.fieldset import FieldSet
from kubewright_apiserver.patch.managers import Identity

__all__ = ["Conflict", "Conflicts"]


class Conflict(NamedTuple):
    """One field that somebody else owns."""

    owner: Identity
    path: str
    """As Kubernetes prints it: ``.spec.template.spec.containers[name="c"].image``."""

    @property
    def cause(self) -> dict[str, str]:
        """The entry in ``details.causes``."""
        return {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {self.owner.printed}",
            "field": self.path,
        }


class Conflicts(Exception):
    """An intent would change fields that others own; the text is what the server answers."""

    def __init__(self, owned: Mapping[Identity, FieldSet]) -> None:
        self.owned: Mapping[Identity, FieldSet] = owned
        """For each owner the fields in conflict."""
        owners = sorted(owned, key=lambda owner: owner.text)
        self.conflicts: list[Conflict] = [Conflict(owner, path) for owner in owners for path in owned[owner]]
        super().__init__(self._message(owners))

    def _message(self, owners: list[Identity]) -> str:
        if len(self.conflicts) == 1:
            owner, path = self.conflicts[0]
            return f"Apply failed with 1 conflict: conflict with {owner.printed}: {path}"
        lines = []
        for owner in owners:
            lines.append(f"conflicts with {owner.printed}:")
            lines.extend(f"- {path}" for path in self.owned[owner])
        return f"Apply failed with {len(self.conflicts)} conflicts: {chr(10).join(lines)}"

    @property
    def causes(self) -> list[dict[str, str]]:
        """The entries of ``details.causes``."""
        return [conflict.cause for conflict in self.conflicts]
