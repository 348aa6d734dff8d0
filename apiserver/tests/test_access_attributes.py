"""What a URL and a method want to do, as authorization sees it."""

from __future__ import annotations

import pytest

from kubewright_apiserver.access.attributes import Attributes, attributes_of

POD = "/api/v1/namespaces/shop/pods/p"


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/api/v1/pods", Attributes("list", "", "pods", version="v1")),
        ("HEAD", "/api/v1/pods", Attributes("list", "", "pods", version="v1")),
        ("GET", POD, Attributes("get", "", "pods", "", "shop", "p", "v1")),
        ("PUT", POD, Attributes("update", "", "pods", "", "shop", "p", "v1")),
        ("PATCH", f"{POD}/status", Attributes("patch", "", "pods", "status", "shop", "p", "v1")),
        ("POST", f"{POD}/eviction", Attributes("create", "", "pods", "eviction", "shop", "p", "v1")),
        ("DELETE", POD, Attributes("delete", "", "pods", "", "shop", "p", "v1")),
        ("DELETE", "/api/v1/pods", Attributes("deletecollection", "", "pods", version="v1")),
        ("OPTIONS", POD, Attributes("", "", "pods", "", "shop", "p", "v1")),
        ("GET", "/apis/apps/v1/deployments", Attributes("list", "apps", "deployments", version="v1")),
        ("GET", "/api/v1/namespaces", Attributes("list", "", "namespaces", version="v1")),
        ("GET", "/api/v1/namespaces/shop", Attributes("get", "", "namespaces", "", "shop", "shop", "v1")),
        ("PUT", "/api/v1/namespaces/a/finalize", Attributes("update", "", "namespaces", "finalize", "a", "a", "v1")),
        ("GET", "/api/v1/watch/pods", Attributes("watch", "", "pods", version="v1")),
        ("GET", "/api/v1/watch/namespaces/shop/pods/p", Attributes("watch", "", "pods", "", "shop", "p", "v1")),
        ("GET", "/api/v1/namespaces/a/pods/%70", Attributes("get", "", "pods", "", "a", "p", "v1")),
    ],
)
def test_a_request_for_a_resource_says_what_it_wants(method: str, path: str, expected: Attributes):
    found = attributes_of(method, path)

    assert found._replace(path="") == expected


@pytest.mark.parametrize(
    "path", ["/", "/healthz", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/a/b/c/d"]
)
def test_a_path_that_is_no_resource_is_asked_for_by_its_method(path: str):
    assert attributes_of("GET", path) == Attributes("get", path=path, is_resource=False)
    assert attributes_of("POST", path).verb == "post"


@pytest.mark.parametrize(
    ("query", "verb", "name"),
    [
        ("watch=1", "watch", ""),
        ("watch=0", "list", ""),
        ("watch=", "watch", ""),
        ("limit=5", "list", ""),
        ("fieldSelector=metadata.name%3Da", "list", "a"),
        ("watch=true&fieldSelector=metadata.name%3Da,status.phase%3DRunning", "watch", "a"),
        ("fieldSelector=metadata.name!%3Da", "list", ""),
        ("fieldSelector=metadata.name%3D..", "list", ""),
        ("fieldSelector=nonsense", "list", ""),
    ],
)
def test_a_list_has_the_one_name_that_it_selects_by(query: str, verb: str, name: str):
    found = attributes_of("GET", "/api/v1/namespaces/a/configmaps", query)

    assert (found.verb, found.name) == (verb, name)
