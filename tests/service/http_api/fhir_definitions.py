"""Checks resources against the published definitions, in the environment of ``make fhir-environment``.

Usage: fhir_definitions.py FILE, a list of resources in JSON. R4B is R4 in all that these resources have.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path


def main() -> int:
    """Print each resource that does not fit, or the number of resources."""
    resources = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    faults = 0
    for resource in resources:
        kind = resource["resourceType"]
        try:
            getattr(import_module(f"fhir.resources.R4B.{kind.lower()}"), kind).model_validate(resource)
        except ValueError as error:
            faults += 1
            print(json.dumps(resource), error, sep="\n")
    if not faults:
        print(len(resources), "resources")
    return int(bool(faults))


if __name__ == "__main__":
    raise SystemExit(main())
