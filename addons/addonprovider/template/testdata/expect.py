#!/usr/bin/env python3
"""Writes into cases.json what Jinja2 and PyYAML make of each template, with the
filters of cluster-api-addon-provider. Run it after adding a case."""
import base64, functools, json, pathlib
import jinja2, yaml

path = pathlib.Path(__file__).with_name("cases.json")
data = json.loads(path.read_text())
# An API server sends maps with sorted keys.
data["variables"] = json.loads(json.dumps(data["variables"], sort_keys=True))

def merge(base, over):
    if isinstance(base, dict) and isinstance(over, dict):
        return {**base, **{k: merge(base[k], v) if k in base else v for k, v in over.items()}}
    if isinstance(base, list) and isinstance(over, list):
        return base + over
    return base if over is None else over

env = jinja2.Environment(loader=jinja2.BaseLoader(), autoescape=False)
env.filters.update(
    mergeconcat=lambda base, *overs: functools.reduce(merge, overs, base),
    fromyaml=yaml.safe_load, toyaml=yaml.safe_dump,
    b64encode=lambda d: base64.b64encode(d).decode(),
    b64decode=lambda d: base64.b64decode(d).decode())
for case in data["cases"]:
    case["want"] = env.from_string(case["template"]).render(**data["variables"])
path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
