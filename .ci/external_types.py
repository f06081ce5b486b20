#!/usr/bin/env python3
"""Which crates' types and traits stand in the public items of a crate: fails when one is not allowed.

    external_types.py <rustdoc's JSON of the crate>...

Types of a crate in the public API tie our versions to its versions, so each is a decision.
"""

import json
import sys
from pathlib import Path

STD = {"core", "alloc", "std"}
OURS = {"formsvc_protocol"}
# For everybody: shapes that others share, at 1.0 or as stable.
SHARED = {"http", "bytes", "serde", "serde_core", "serde_json", "futures_core"}
# For whoever asks for a feature of that name, or one that is made for them.
ASKED_FOR = {
    "formsvc_protocol": {"jiff", "chrono", "time"},
    "formsvc_client": {"jiff", "chrono", "time", "http_body", "tower_service"},
    "formsvc_receiver": {
        "axum_core", "tower_layer", "tower_service", "http_body", "rusqlite", "tokio_postgres",
        "deadpool_postgres",
        # Where an error of deadpool-postgres comes from, by an alias there.
        "deadpool",
        # The bodies of answers. It has no 1.0 yet: another version of it is a breaking change here.
        "http_body_util",
    },
}
# What macros write, and nobody can name.
HIDDEN = {"pin_project_lite"}


def references(part):
    """The ids of every type and trait that a part of an item names."""
    if isinstance(part, list):
        for one in part:
            yield from references(one)
    elif isinstance(part, dict):
        if isinstance(part.get("id"), int) and ("path" in part or "source" in part):
            yield part["id"]
        for name, one in part.items():
            # The names of items within an impl are those of its trait.
            if name not in ("items", "provided_trait_methods", "impls", "links", "attrs"):
                yield from references(one)


def is_written(item):
    """Whether a person wrote it: the compiler's own impls are of every type."""
    impl = item["inner"].get("impl")
    return impl is None or not (impl["is_synthetic"] or impl["blanket_impl"])


def check(path):
    doc = json.loads(path.read_text())
    crates = {int(number): crate["name"] for number, crate in doc["external_crates"].items()}
    name = doc["index"][str(doc["root"])]["name"]
    allowed = STD | OURS | SHARED | HIDDEN | ASKED_FOR[name]
    found = {}
    for item in doc["index"].values():
        if item["crate_id"] != 0 or not is_written(item):
            continue
        for reference in references(item["inner"]):
            place = doc["paths"].get(str(reference))
            if place and place["crate_id"] != 0:
                crate = crates[place["crate_id"]]
                found.setdefault(crate, set()).add(f"{'::'.join(place['path'])} in {item['name']}")
    print(f"{name}: {', '.join(sorted(found.keys() - STD))}")
    faults = sorted(use for crate in found.keys() - allowed for use in found[crate])
    for fault in faults:
        print(f"{name}: {fault} is of a crate that is not allowed", file=sys.stderr)
    return not faults and bool(found)


if __name__ == "__main__":
    results = [check(Path(argument)) for argument in sys.argv[1:]]
    sys.exit(0 if results and all(results) else 1)
