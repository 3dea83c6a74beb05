"""Composes deploy/kubernetes as `kubectl kustomize` does, in the part of its language that is used there, for machines without kubectl.

What it does not know it refuses. Where kubectl is, kubernetes_test.py compares the two.
"""
import copy
import fnmatch

import yaml

KNOWN = {"apiVersion", "kind", "resources", "components", "namespace", "labels", "images", "patches"}
CLUSTER_WIDE = {"Namespace"}


def render(folder):
    """The objects of folder/kustomization.yaml, in no particular order."""
    return _build(folder, [])


def _build(folder, objects):
    described = yaml.safe_load((folder / "kustomization.yaml").read_text())
    unknown = set(described) - KNOWN
    if unknown:
        raise ValueError(f"{folder}: this composer does not know {sorted(unknown)}")
    for name in described.get("resources", []):
        place = folder / name
        objects += _build(place.resolve(), []) if place.is_dir() else list(yaml.safe_load_all(place.read_text()))
    for name in described.get("components", []):
        objects = _build((folder / name).resolve(), objects)
    for patch in described.get("patches", []):
        _patch(objects, patch, folder)
    for wanted in described.get("labels", []):
        _label(objects, wanted, folder)
    for image in described.get("images", []):
        _rename_image(objects, image)
    if "namespace" in described:
        _place(objects, described["namespace"])
    return objects


def _patch(objects, patch, folder):
    target = patch["target"]
    hit = [o for o in objects if o["kind"] == target["kind"] and fnmatch.fnmatch(o["metadata"]["name"], target["name"])]
    if not hit:
        raise ValueError(f"{folder}: the patch for {target} fits nothing")
    for operation in yaml.safe_load(patch["patch"]):
        if operation["path"] == "/kind" and not patch.get("options", {}).get("allowKindChange"):
            raise ValueError(f"{folder}: {target} changes its kind without allowKindChange")
        for item in hit:
            _apply(item, operation)


def _apply(document, operation):
    """RFC 6902: add, replace, remove."""
    *way, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
    at = document
    for part in way:
        at = at[int(part)] if isinstance(at, list) else at[part]
    key = last
    if isinstance(at, list):
        key = len(at) if last == "-" else int(last)
    elif operation["op"] != "add" and key not in at:
        raise ValueError(f"nothing at {operation['path']}")
    if operation["op"] == "remove":
        del at[key]
    elif operation["op"] == "add" and isinstance(at, list):
        at.insert(key, copy.deepcopy(operation["value"]))
    elif operation["op"] in ("add", "replace"):
        at[key] = copy.deepcopy(operation["value"])
    else:
        raise ValueError(f"this composer does not know {operation['op']}")


def _label(objects, wanted, folder):
    if wanted.get("includeSelectors", True):
        raise ValueError(f"{folder}: labels with includeSelectors change selectors of running objects")
    for item in objects:
        item["metadata"].setdefault("labels", {}).update(wanted["pairs"])
        if wanted.get("includeTemplates") and "template" in item.get("spec", {}):
            item["spec"]["template"]["metadata"].setdefault("labels", {}).update(wanted["pairs"])


def _rename_image(objects, image):
    for item in objects:
        for container in containers(item):
            name, _, tag = container["image"].partition(":")
            if name == image["name"]:
                container["image"] = f"{image.get('newName', name)}:{image.get('newTag', tag)}"


def _place(objects, namespace):
    for item in objects:
        if item["kind"] not in CLUSTER_WIDE:
            item["metadata"]["namespace"] = namespace


def pod_of(item):
    """The pod's spec of a workload; None for other kinds."""
    return item.get("spec", {}).get("template", {}).get("spec") if item["kind"] in (
        "Deployment", "DaemonSet", "StatefulSet", "Job") else None


def containers(item):
    pod = pod_of(item) or {}
    return pod.get("initContainers", []) + pod.get("containers", [])
