"""§6 Abuse: what a million random requests found, one case for each sort."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import CRDS
from conformance.widgets import Widgets

pytestmark = pytest.mark.section("6")

ACCOUNTS = "/api/v1/namespaces/{ns}/serviceaccounts"


@pytest.mark.parametrize(
    "value",
    [["a", "a"], {}, {"kind": "Widget"}, {"kind": 5}, {"kind": "Widget", "apiVersion": []}],
    ids=json.dumps,
)
async def test_a_patch_that_makes_a_custom_resource_something_else(api: Api, widgets: Widgets, value: Any):
    await widgets.install()
    await widgets.create("b")

    await api.patch(f"{widgets.path}/b", [{"op": "replace", "path": "", "value": value}], type="json")


async def test_an_apply_to_an_object_whose_items_have_no_keys(api: Api):
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}}
    await api.post(ACCOUNTS, {**account, "secrets": [{}]})

    await api.patch(f"{ACCOUNTS}/a", account, type="apply", query={"fieldManager": "m"})


async def test_a_dry_deletion_of_definitions_of_which_none_is_chosen(api: Api):
    options = {"dryRun": "All", "labelSelector": "a>1"}
    accept = {"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}

    await api.delete(CRDS, query=options, headers=accept)
    await api.delete(CRDS, query=options)
