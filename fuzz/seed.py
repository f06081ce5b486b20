#!/usr/bin/env python3
"""Writes the seed inputs from the fixtures: fuzz/corpus/<target>/seed-<number>."""

import json
from pathlib import Path

HERE = Path(__file__).parent
FIXTURES = HERE.parent / "fixtures"

VECTORS = json.loads((FIXTURES / "webhooks" / "signatures.json").read_text())["vectors"]
WIRE = {path.name: path.read_bytes() for path in sorted((FIXTURES / "wire").glob("*.json"))}
NAUGHTY = json.loads((FIXTURES / "forms" / "naughty.json").read_text())

TIMES = """2026-01-31T09:30:00.120Z 2026-01-31T09:30:00.120001Z 2026-01-31t09:30:00z
1969-12-31T23:59:59.999999500Z 2016-12-31T23:59:60Z 2024-02-29T00:00:00+23:59
0000-01-01T00:00:00-00:00 9999-12-31T23:59:59.999999999Z""".split()

def token(position, seen=(), seen_oldest=None, form="frm_1"):
    """The content of a resume token; the target adds the checksum."""
    state = {"list": {"origin": "https://forms.example:443", "form": form}, "position": position,
             "seen": list(seen), "seen_oldest": seen_oldest}
    return json.dumps(state).encode()


def at(cursor, oldest=None):
    return {"cursor": cursor, "oldest": oldest}


TOKENS = [
    token(None),
    token(at(None)),
    token(at("a", 1769851800118000), ["sub_7"], 1769851800118000),
    token(at("b", 1769851800118000), ["sub_5", "sub_6", "sub_7"], 1769851800118000),
    token(at(None, 1769851800119000), ["sub_8", "sub_9"], 1769851800119000),
    token(at("2026-01-31T09:30:00.000Z", -1), [",", ":"], -9223372036854775808, "a\u00e9+b"),
]

NAUGHTY_TEXTS = [text for text in json.dumps(NAUGHTY, ensure_ascii=False).split('"') if len(text) > 3]

PAGES = [WIRE[name] for name in WIRE if name.startswith("page_")] + [
    b'{"data":[{"id":"sub\\u005f1","data":{"a":[1,{"b":"}"}],"a":null,"\\ud800":1e400},'
    b'"created_at":"2026-01-31T09:30:00+02:00","x":[]}],"pagination":{"has_more":false}}',
    b'[[["sub_1",{},"2026-01-31T09:30:00Z"]],[null,false]]',
    b'{"data":[{"id":"sub_1","data":{"a":1},"created_at":"2026-01-31T09:30:00Z","data":{"b":2}}],'
    b'"pagination":{"has_more":false}}',
    b'{"data":[],"pagination":{"has_more":false},"pagination":{"has_more":true}}',
    b'{"data":[],"pagination":{"\\u001b[2J":e}}',
]

SEEDS = {
    "header": [vector["header"].encode() for vector in VECTORS],
    "body": [bytes.fromhex(vector["body_hex"]) for vector in VECTORS]
    + [WIRE["webhook_event.json"], b' {"event":"form.closed","x":[1e400]}\r\n']
    # An array of the members: some parsers accept it as the object.
    + [b'["form.closed"]', b'{"event":"a","event":"b"}'],
    "cursor": [text.encode() for text in TIMES + NAUGHTY_TEXTS],
    "token": TOKENS,
    "page": PAGES,
}

for target, seeds in SEEDS.items():
    directory = HERE / "corpus" / target
    directory.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(sorted(set(seeds))):
        (directory / f"seed-{number}").write_bytes(seed)
