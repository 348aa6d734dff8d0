"""What kubectl makes itself it sends in protobuf: generators, autoscaling, reviews; the servers say the same of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.kubectl import Kubectl
from conformance.objects import deployment
from kubewright.testing.certificates import Authority

GENERATED = {
    "configmap": "configmap a --from-literal=k=v --from-literal=other=é",
    "secret": "secret generic a --from-literal=k=v --type=example.com/t",
    "registry": "secret docker-registry a --docker-username=u --docker-password=p --docker-server=r.example.com",
    "serviceaccount": "serviceaccount a",
    "deployment": "deployment a --image=nginx:1 --replicas=0 --port=80",
    "job": "job a --image=busybox -- date",
    "cronjob": "cronjob a --image=busybox --schedule=@hourly",
    "role": "role a --verb=get,list --resource=pods,deployments.apps --resource-name=x",
    "rolebinding": "rolebinding a --role=r --user=u --serviceaccount=default:s --group=g",
    "quota": "quota a --hard=cpu=1,memory=1Gi,pods=2 --scopes=BestEffort",
    "poddisruptionbudget": "poddisruptionbudget a --selector=app=x --min-available=50%",
    "controlled": "poddisruptionbudget a --selector=app=x --max-unavailable=1",
    "backend": "ingress a --default-backend=s:80 --annotation=k=v",
    "ingress": "ingress a --rule=foo.example.com/bar*=svc:8080,tls=cert --class=c",
}
DRY = {
    "namespace": "namespace kubectl-made",
    "clusterrole": "clusterrole kubectl-made --verb=get --non-resource-url=/logs/*",
    "aggregation": "clusterrole kubectl-made --aggregation-rule=l=1",
    "clusterrolebinding": "clusterrolebinding kubectl-made --clusterrole=r --user=u",
    "priorityclass": "priorityclass kubectl-made --value=1000 --description=d --preemption-policy=Never",
}


@pytest.mark.parametrize("what", GENERATED)
async def test_a_generator_makes_an_object(kubectl: Kubectl, what: str):
    command = GENERATED[what].split()
    await kubectl("create", *command)
    await kubectl("create", *command)
    kind = command[0]
    await kubectl("get", kind, "a", "-o", "yaml")


@pytest.mark.parametrize("what", DRY)
async def test_a_generator_is_tried_on_the_server(kubectl: Kubectl, what: str):
    await kubectl("create", *DRY[what].split(), "--dry-run=server", "-o", "yaml")


async def test_a_generator_makes_what_is_refused(kubectl: Kubectl):
    await kubectl("create", "configmap", "Bad_Name")
    await kubectl("create", "deployment", "Bad_Name", "--image=nginx")
    await kubectl("create", "quota", "q", "--hard=cpu=-1")
    await kubectl("create", "role", "r", "--verb=get", "--resource=nope")


async def test_from_a_file_of_variables(kubectl: Kubectl):
    variables = kubectl.file("variables", "A=b\n# no more\nC=d e\n")
    await kubectl(f"create configmap a --from-env-file={variables}")
    await kubectl(f"create secret generic a --from-env-file={variables}")
    await kubectl(f"create configmap hashed --from-env-file={variables} --append-hash")
    await kubectl("get configmap a -o yaml")
    await kubectl("get secret a -o jsonpath={.data}")


async def test_a_secret_of_a_certificate(kubectl: Kubectl):
    pair = Authority("kubectl").issue_server("example.com", ["example.com"])
    certificate, key = kubectl.file("certificate", pair.public.decode()), kubectl.file("key", pair.private.decode())
    await kubectl(f"create secret tls a --cert={certificate} --key={key}")
    await kubectl("get secret a")
    await kubectl("get secret a -o jsonpath={.type}")
    await kubectl(f"create secret tls b --cert={key} --key={key}")


async def test_a_config_map_from_files(kubectl: Kubectl, tmp_path: Path):
    (tmp_path / "text").write_text("one\ntwo\n")
    (tmp_path / "bytes").write_bytes(b"\x00\xff\x01")
    files = (f"--from-file={tmp_path}/text", f"--from-file={tmp_path}/bytes")
    await kubectl("create", "configmap", "a", *files, is_told=False)
    printed = await kubectl("get", "configmap", "a", "-o", "jsonpath={.data.text}{.binaryData.bytes}", is_told=False)

    assert printed == "one\ntwo\nAP8B"


@pytest.mark.parametrize(
    "words",
    [
        "clusterip a --tcp=80:8080 --tcp=81:http",
        "clusterip a --clusterip=None",
        "nodeport a --tcp=80",
        "loadbalancer a --tcp=443:8443",
        "externalname a --external-name=e.example.com",
    ],
)
async def test_services_of_every_type(kubectl: Kubectl, words: str):
    await kubectl("create", "service", *words.split())
    await kubectl("get", "service", "a", "-o", "jsonpath={.spec.type} {.spec.selector} {.spec.externalName}")
    await kubectl("get", "service", "a", "-o", "jsonpath={.spec.ports[*].targetPort} {.spec.ports[*].port}")


async def test_a_job_from_a_cron_job(kubectl: Kubectl):
    await kubectl("create", "cronjob", "c", "--image=busybox", "--schedule=@daily", "--", "date")
    await kubectl("create", "job", "j", "--from=cronjob/c")
    await kubectl("get", "job", "j", "-o", "jsonpath={.spec.template.spec.containers[0]} {.metadata.annotations}")


async def test_autoscale(kubectl: Kubectl):
    await kubectl("apply", "-f", "-", given=deployment())
    await kubectl("autoscale", "deployment", "d", "--min=2", "--max=5", "--cpu=80%")
    await kubectl("get", "hpa", "d", "-o", "yaml")


async def test_expose_and_set(kubectl: Kubectl):
    await kubectl("create", "deployment", "d", "--image=nginx:1", "--port=80")
    await kubectl("expose", "deployment", "d", "--target-port=8080", "--port=80")
    await kubectl("set", "image", "deployment/d", "nginx=nginx:2")
    await kubectl("set", "env", "deployment/d", "A=b")
    await kubectl("set", "resources", "deployment/d", "--limits=cpu=200m,memory=512Mi")
    await kubectl("rollout", "restart", "deployment/d", is_told=False)
    await kubectl("get", "deployment", "d", "-o", "jsonpath={.spec.template.spec.containers} {.metadata.generation}")


async def test_exposing_more(kubectl: Kubectl):
    await kubectl("run p --image=nginx --port=80 --expose")
    await kubectl("expose pod p --name=second --type=NodePort --port=81 --protocol=UDP -o name")
    await kubectl("expose service second --name=third --port=82 --cluster-ip=None --dry-run=server -o yaml")
    await kubectl("expose configmap nope --port=1")
    await kubectl("get services -o name")
    await kubectl("run p --image=nginx")
    await kubectl("run q --image=nginx --restart=Never --privileged --command -- sh -c date")
    await kubectl("run", "r", "--image=nginx", "--overrides", '{"spec":{"hostNetwork":true}}')
    await kubectl("get pod q -o jsonpath={.spec.containers[0]}")


async def test_run_a_pod(kubectl: Kubectl):
    await kubectl("run", "p", "--image=nginx", "--port=80", "--labels=a=b", "--env=K=v")
    await kubectl("get", "pod", "p", "-o", "jsonpath={.metadata.labels} {.spec.containers[0].ports}")


async def test_may_i(kubectl: Kubectl):
    await kubectl("auth", "can-i", "get", "pods")
    await kubectl("auth", "can-i", "*", "*")
    await kubectl("auth", "can-i", "get", "/logs/")


async def test_deleting_with_options(kubectl: Kubectl):
    await kubectl("create", "deployment", "d", "--image=nginx")
    await kubectl("delete", "deployment", "d", "--cascade=orphan", "--wait=false")
    await kubectl("get", "deployment", "d", "-o", "jsonpath={.metadata.finalizers}")
