"""Webhook configurations, admission policies and their bindings; CEL expressions are looked at elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kubewright_apiserver.schema.goprint import printed
from kubewright_apiserver.status import (
    duplicate,
    forbidden_field,
    invalid_field,
    not_supported,
    required,
    too_many,
)
from kubewright_apiserver.validation.labels import selector_errors
from kubewright_apiserver.validation.metadata import generic_metadata
from kubewright_apiserver.validation.names import dns1035_label, dns_subdomain, path_segment
from kubewright_apiserver.validation.rules import (
    Errors,
    Object,
    enumerated_if_set,
    named,
    named_required,
    qualified_errors,
)
from kubewright_apiserver.validation.statuses import condition_errors
from kubewright_apiserver.validation.webhook import client_config

__all__ = [
    "created_mutating_binding",
    "created_mutating_policy",
    "created_mutating_webhooks",
    "created_validating_binding",
    "created_validating_policy",
    "created_validating_webhooks",
    "updated_validating_policy_status",
]

_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_MUTATING: Final = ("*", "CONNECT", "CREATE", "UPDATE")
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS: Final = ("Audit", "Deny", "Warn")
_RESERVED: Final = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if"),
        *("import", "let", "loop", "package", "namespace", "return", "var", "void", "while"),
    )
)
_NEWLINE: Final = re.compile(r"[\n\r]")


def created_validating_webhooks(obj: Object) -> Errors:
    """The errors of a ValidatingWebhookConfiguration, new or not."""
    return _webhooks(obj, mutating=False)


def created_mutating_webhooks(obj: Object) -> Errors:
    """The errors of a MutatingWebhookConfiguration, new or not."""
    return _webhooks(obj, mutating=True)


def _webhooks(obj: Object, *, mutating: bool) -> Errors:
    errors = generic_metadata(obj, False, dns_subdomain)
    names: set[str] = set()
    for index, hook in enumerate(obj.get("webhooks") or ()):
        path, name = f"webhooks[{index}]", hook.get("name", "")
        errors += _webhook(hook, path, mutating)
        versions = hook.get("admissionReviewVersions") or []
        errors += _review_versions(versions, f"{path}.admissionReviewVersions")
        if name and name in names:
            errors.append(duplicate(f"{path}.name", name))
        names.add(name)
    return errors


def _webhook(hook: Object, path: str, mutating: bool) -> Errors:
    errors = _full_name(hook.get("name", ""), f"{path}.name")
    for index, rule in enumerate(hook.get("rules") or ()):
        errors += _rule(rule, f"{path}.rules[{index}]")
    errors += enumerated_if_set(f"{path}.failurePolicy", hook.get("failurePolicy"), ("Fail", "Ignore"))
    errors += enumerated_if_set(f"{path}.matchPolicy", hook.get("matchPolicy"), ("Equivalent", "Exact"))
    effects, known, at = hook.get("sideEffects"), ("None", "NoneOnDryRun"), f"{path}.sideEffects"
    if effects is None:
        errors.append(required(at, "must specify one of None, NoneOnDryRun"))
    errors += enumerated_if_set(at, effects, known)
    seconds = hook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        detail = "the timeout value must be between 1 and 30 seconds"
        errors.append(invalid_field(f"{path}.timeoutSeconds", seconds, detail))
    for name in ("namespaceSelector", "objectSelector"):
        errors += selector_errors(hook.get(name), f"{path}.{name}")
    if mutating:
        policy = hook.get("reinvocationPolicy")
        errors += enumerated_if_set(f"{path}.reinvocationPolicy", policy, ("IfNeeded", "Never"))
    errors += client_config(hook.get("clientConfig") or {}, f"{path}.clientConfig")
    return errors + _match_conditions(hook.get("matchConditions") or (), f"{path}.matchConditions")


def _full_name(name: str, path: str) -> Errors:
    if not name:
        return [required(path)]
    if messages := dns_subdomain(name):
        return [invalid_field(path, name, ",".join(messages))]
    if name.count(".") < 2:
        detail = "should be a domain with at least three segments separated by dots"
        return [invalid_field(path, name, detail)]
    return []


def _review_versions(versions: list[str], path: str) -> Errors:
    if not versions:
        return [required(path, "must specify one of v1, v1beta1")]
    errors: Errors = []
    for index, version in enumerate(versions):
        at = f"{path}[{index}]"
        if version in versions[:index]:
            errors.append(invalid_field(at, version, "duplicate version"))
        else:
            errors += named(dns1035_label, at, version)
    if not {"v1", "v1beta1"} & {*versions}:
        errors.append(invalid_field(path, versions, "must include at least one of v1, v1beta1"))
    return errors


def _rule(rule: Object, path: str) -> Errors:
    operations, groups, versions = (rule.get(name) or [] for name in ("operations", "apiGroups", "apiVersions"))
    errors = [] if operations else [required(f"{path}.operations")]
    errors += _alone(operations, f"{path}.operations", "operations")
    errors += [
        not_supported(f"{path}.operations[{index}]", operation, _OPERATIONS)
        for index, operation in enumerate(operations)
        if operation not in _OPERATIONS
    ]
    for name, values, told in (("apiGroups", groups, "API groups"), ("apiVersions", versions, "API versions")):
        errors += [] if values else [required(f"{path}.{name}")]
        errors += _alone(values, f"{path}.{name}", told)
    errors += [required(f"{path}.apiVersions[{index}]") for index, version in enumerate(versions) if not version]
    errors += _resources(rule.get("resources") or [], f"{path}.resources")
    return errors + enumerated_if_set(f"{path}.scope", rule.get("scope"), ("*", "Cluster", "Namespaced"))


def _alone(values: list[str], path: str, told: str) -> Errors:
    if "*" not in values or len(values) < 2:
        return []
    return [invalid_field(path, values, f"if '*' is present, must not specify other {told}")]


def _resources(resources: list[str], path: str) -> Errors:
    errors = [] if resources else [required(path)]
    all_below: set[str] = set()
    below_all: set[str] = set()
    has_plain = False
    for index, name in enumerate(resources):
        at, (resource, slash, inner) = f"{path}[{index}]", name.partition("/")
        if not name:
            errors.append(required(at))
        elif not slash:
            has_plain = name != "*"
        else:
            wide = [f"{resource}/*"] if resource in all_below else []
            wide += [f"*/{inner}"] if inner in below_all else []
            errors += [invalid_field(at, name, f"if '{one}' is present, must not specify {name}") for one in wide]
            all_below |= {resource} if inner == "*" else set()
            below_all |= {inner} if resource == "*" else set()
    if len(resources) > 1 and "*/*" in resources:
        detail = "if '*/*' is present, must not specify other resources"
        errors.append(invalid_field(path, resources, detail))
    if "*" in resources and has_plain:
        detail = "if '*' is present, must not specify other resources without subresources"
        errors.append(invalid_field(path, resources, detail))
    return errors


def _match_conditions(conditions: Sequence[Object], path: str) -> Errors:
    errors = [too_many(path, len(conditions), 64)] if len(conditions) > 64 else []
    names: set[str] = set()
    for index, condition in enumerate(conditions):
        at, name = f"{path}[{index}]", condition.get("name", "")
        if not condition.get("expression", "").strip():
            errors.append(required(f"{at}.expression"))
        errors += qualified_errors(f"{at}.name", name) if name else [required(f"{at}.name")]
        if name and name in names:
            errors.append(duplicate(f"{at}.name", name))
        names.add(name)
    return errors


def created_validating_policy(obj: Object) -> Errors:
    """The errors of a ValidatingAdmissionPolicy, new or not."""
    spec = obj.get("spec") or {}
    errors = generic_metadata(obj, False, dns_subdomain) + _policy(spec)
    validations, annotations = spec.get("validations") or (), spec.get("auditAnnotations") or []
    if not validations and not annotations:
        detail = "validations or auditAnnotations must contain at least one item"
        return [*errors, required("spec.validations", detail), required("spec.auditAnnotations", detail)]
    for index, validation in enumerate(validations):
        errors += _validation(validation, f"spec.validations[{index}]")
    if len(annotations) > 20:
        detail = "must not have more than 20 auditAnnotations"
        errors.append(
            invalid_field(
                "spec.auditAnnotations", printed("[]admissionregistration.AuditAnnotation", annotations), detail
            )
        )
    keys: set[str] = set()
    for index, annotation in enumerate(annotations):
        path, key = f"spec.auditAnnotations[{index}]", annotation.get("key", "")
        errors += _audit_annotation(annotation, obj["metadata"].get("name", ""), path)
        if key in keys:
            errors.append(duplicate(f"{path}.key", key))
        keys.add(key)
    return errors


def created_mutating_policy(obj: Object) -> Errors:
    """The errors of a MutatingAdmissionPolicy, new or not."""
    spec = obj.get("spec") or {}
    errors = generic_metadata(obj, False, dns_subdomain) + _policy(spec, mutating=True)
    mutations = spec.get("mutations") or ()
    if not mutations:
        errors.append(required("spec.mutations", "mutations must contain at least one item"))
    for index, mutation in enumerate(mutations):
        errors += _mutation(mutation, f"spec.mutations[{index}]")
    policy, at = spec.get("reinvocationPolicy"), "spec.reinvocationPolicy"
    if not policy:
        return [*errors, required(at)]
    return errors + enumerated_if_set(at, policy, ("IfNeeded", "Never"))


def _policy(spec: Object, *, mutating: bool = False) -> Errors:
    policy, at = spec.get("failurePolicy"), "spec.failurePolicy"
    errors = [required(at)] if policy is None else enumerated_if_set(at, policy, ("Fail", "Ignore"))
    if (kind := spec.get("paramKind")) is not None:
        errors += _param_kind(kind, "spec.paramKind")
    constraints, at = spec.get("matchConstraints"), "spec.matchConstraints"
    if constraints is None:
        errors.append(required(at))
    else:
        errors += _match_resources(constraints, at)
        if not constraints.get("resourceRules"):
            errors.append(required(f"{at}.resourceRules"))
        errors += _mutating_operations(constraints, at) if mutating else []
    errors += _match_conditions(spec.get("matchConditions") or (), "spec.matchConditions")
    for index, variable in enumerate(spec.get("variables") or ()):
        errors += _variable(variable, f"spec.variables[{index}]")
    return errors


def _param_kind(kind: Object, path: str) -> Errors:
    version, name, at = kind.get("apiVersion", ""), kind.get("kind", ""), f"{path}.apiVersion"
    group, _, short = version.rpartition("/")
    errors: Errors = []
    if not version:
        errors.append(required(at))
    elif version.count("/") > 1:
        errors.append(invalid_field(at, version, f"unexpected GroupVersion string: {version}"))
    else:
        if group and (messages := dns_subdomain(group)):
            errors.append(invalid_field(at, group, ",".join(messages)))
        if not short:
            errors.append(invalid_field(at, version, "version must be specified"))
        elif messages := dns1035_label(short):
            errors.append(invalid_field(at, short, ",".join(messages)))
    if not name:
        return [*errors, required(f"{path}.kind")]
    if messages := dns1035_label(name.lower()):
        detail = "may have mixed case, but should otherwise match: " + ",".join(messages)
        errors.append(invalid_field(f"{path}.kind", name, detail))
    return errors


def _match_resources(found: Object, path: str) -> Errors:
    policy = found.get("matchPolicy")
    errors = [required(f"{path}.matchPolicy")] if policy is None else []
    errors += enumerated_if_set(f"{path}.matchPolicy", policy, ("Equivalent", "Exact"))
    for name in ("namespaceSelector", "objectSelector"):
        selector = found.get(name)
        errors += [required(f"{path}.{name}")] if selector is None else selector_errors(selector, f"{path}.{name}")
    for field in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(found.get(field) or ()):
            at = f"{path}.{field}[{index}]"
            errors += _resource_names(rule.get("resourceNames") or (), f"{at}.resourceNames") + _rule(rule, at)
    return errors


def _resource_names(names: Sequence[str], path: str) -> Errors:
    errors: Errors = []
    for index, name in enumerate(names):
        errors += named(path_segment, f"{path}[{index}]", name)
        if name in names[:index]:
            errors.append(duplicate(f"{path}[{index}]", name))
    return errors


def _mutating_operations(found: Object, path: str) -> Errors:
    return [
        not_supported(f"{path}.resourceRules.operations", operation, _MUTATING)
        for rule in found.get("resourceRules") or ()
        for operation in rule.get("operations") or ()
        if operation not in _MUTATING
    ]


def _variable(variable: Object, path: str) -> Errors:
    name, expression = variable.get("name", ""), variable.get("expression", "")
    errors: Errors = []
    if not name.strip():
        errors.append(required(f"{path}.name", "name is not specified"))
    elif not re.fullmatch("[_a-zA-Z][_a-zA-Z0-9]*", name) or name in _RESERVED:
        errors.append(invalid_field(f"{path}.name", name, "must be a valid CEL identifier"))
    if not expression.strip():
        errors.append(required(f"{path}.expression", "expression is not specified"))
    return errors


def _validation(validation: Object, path: str) -> Errors:
    message, shown = validation.get("message", ""), validation.get("messageExpression", "")
    errors: Errors = []
    if not validation.get("expression", "").strip():
        errors.append(required(f"{path}.expression", "expression is not specified"))
    if shown and not shown.strip():
        errors.append(invalid_field(f"{path}.messageExpression", shown, "must be non-empty if specified"))
    if message and not message.strip():
        errors.append(invalid_field(f"{path}.message", message, "must be non-empty if specified"))
    elif _NEWLINE.search(message.strip()):
        errors.append(invalid_field(f"{path}.message", message, "must not contain line breaks"))
    return errors + enumerated_if_set(f"{path}.reason", validation.get("reason"), _REASONS)


def _audit_annotation(annotation: Object, name: str, path: str) -> Errors:
    key, expression = annotation.get("key", ""), annotation.get("valueExpression", "").strip()
    if name:
        errors = qualified_errors(f"{path}.key", f"{name}/{key}")
    else:
        errors = [invalid_field(f"{path}.key", key, "requires metadata.name be non-empty")]
    if not expression:
        errors.append(required(f"{path}.valueExpression", "valueExpression is not specified"))
    elif len(expression.encode()) > 5 * 1024:
        errors.append(required(f"{path}.valueExpression", "must not exceed 5120 bytes in length"))
    return errors


_PATCHES: Final = {"JSONPatch": "jsonPatch", "ApplyConfiguration": "applyConfiguration"}


def _mutation(mutation: Object, path: str) -> Errors:
    kind = mutation.get("patchType")
    if not kind:
        return [required(f"{path}.patchType")]
    if kind not in _PATCHES:
        return [not_supported(f"{path}.patchType", kind, ("ApplyConfiguration", "JSONPatch"))]
    field = _PATCHES[kind]
    other = next(name for name in _PATCHES.values() if name != field)
    patch, told = mutation.get(field), f"be specified when patchType is {kind}"
    errors: Errors = []
    if patch is None:
        errors.append(required(f"{path}.{field}", f"must {told}"))
    elif not patch.get("expression", "").strip():
        errors.append(required(f"{path}.{field}.expression"))
    if mutation.get(other) is not None:
        errors.append(invalid_field(f"{path}.{other}", f"{{{other}}}", f"must not {told}"))
    return errors


def created_validating_binding(obj: Object) -> Errors:
    """The errors of a ValidatingAdmissionPolicyBinding, new or not."""
    spec = obj.get("spec") or {}
    errors = _binding(obj, spec)
    actions, at = spec.get("validationActions") or [], "spec.validationActions"
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            errors.append(not_supported(f"{at}[{index}]", action, _ACTIONS))
        if action in actions[:index]:
            errors.append(duplicate(f"{at}[{index}]", action))
    if {"Deny", "Warn"} <= {*actions}:
        told = "repeating the same validation failure information in the API response and headers serves no purpose"
        errors.append(invalid_field(at, actions, f"must not contain both Deny and Warn ({told})"))
    return errors if actions else [*errors, required(at, "at least one validation action is required")]


def created_mutating_binding(obj: Object) -> Errors:
    """The errors of a MutatingAdmissionPolicyBinding, new or not."""
    spec = obj.get("spec") or {}
    found = spec.get("matchResources") or {}
    return _binding(obj, spec) + _mutating_operations(found, "spec.matchResources")


def _binding(obj: Object, spec: Object) -> Errors:
    errors = generic_metadata(obj, False, dns_subdomain)
    errors += named_required(dns_subdomain, "spec.policyName", spec.get("policyName"))
    if (reference := spec.get("paramRef")) is not None:
        errors += _param_reference(reference, "spec.paramRef")
    found = spec.get("matchResources")
    return errors if found is None else errors + _match_resources(found, "spec.matchResources")


def _param_reference(reference: Object, path: str) -> Errors:
    name, selector, told = reference.get("name"), reference.get("selector"), "name and selector are mutually exclusive"
    errors: Errors = []
    if name:
        errors += named(path_segment, f"{path}.name", name)
        errors += [] if selector is None else [forbidden_field(f"{path}.name", told)]
    if selector is not None:
        errors += selector_errors(selector, f"{path}.selector")
        errors += [forbidden_field(f"{path}.selector", told)] if name else []
    if not name and selector is None:
        errors.append(required(path, "one of name or selector must be specified"))
    action, at = reference.get("parameterNotFoundAction"), f"{path}.parameterNotFoundAction"
    return errors + (enumerated_if_set(at, action, ("Deny", "Allow")) if action else [required(at)])


def updated_validating_policy_status(obj: Object, old: Object) -> Errors:
    """The errors of a ValidatingAdmissionPolicy whose status is written."""
    status = obj.get("status") or {}
    errors: Errors = []
    for index, warning in enumerate((status.get("typeChecking") or {}).get("expressionWarnings") or ()):
        at = f"status.typeChecking.expressionWarnings[{index}]"
        errors += [] if warning.get("warning") else [required(f"{at}.warning")]
        errors += [] if warning.get("fieldRef", "").strip() else [required(f"{at}.fieldRef")]
    return errors + condition_errors(status.get("conditions") or (), "status.conditions")
