"""A custom resource of a case's own group."""

from __future__ import annotations

from typing import Any

from conformance.exchange import Answer, Api, is_served
from conformance.objects import CRDS, crd

__all__ = ["Widgets"]


class Widgets:
    """Widgets, namespaced, in an API group named after the case's namespace."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.group = f"{api.namespace}.example.com"
        self.path = f"/apis/{self.group}/v1/namespaces/{{ns}}/widgets"
        self.definition = f"{CRDS}/widgets.{self.group}"

    async def install(self, schema: dict[str, Any] | None = None, **version: Any) -> None:
        """Create the definition, unrecorded; return when widgets are served."""
        await self.install_definition(crd("widgets", self.group, schema, **version))

    async def install_definition(self, definition: dict[str, Any], path: str = "") -> None:
        """Create that definition, unrecorded; return when its objects are served."""
        with self.api.unrecorded():
            created = await self.api.post(CRDS, definition)
            assert created.status == 201, created.text
        await self.api.until(path or self.path, is_served)

    async def redefine(self, patch: Any, is_seen: Any = None, type: str = "merge") -> None:
        """Patch the definition, unrecorded; return when ``is_seen`` of an answer to a list is true."""
        with self.api.unrecorded():
            answer = await self.api.patch(self.definition, patch, type=type)
            assert answer.status == 200, answer.text
        if is_seen is not None:
            await self.api.until(self.path, is_seen)

    def widget(self, name: str = "w", **content: Any) -> dict[str, Any]:
        """A widget."""
        return {"apiVersion": f"{self.group}/v1", "kind": "Widget", "metadata": {"name": name}, **content}

    async def create(self, name: str = "w", **content: Any) -> Answer:
        """Create a widget, unrecorded."""
        with self.api.unrecorded():
            answer = await self.api.post(self.path, self.widget(name, **content))
        assert answer.status == 201, answer.text
        return answer
