"""Reads every submission of a form with `requests` and decodes it: read_rows.py FORM ROWS."""

import os
import sys

import requests

form, expected = sys.argv[1], int(sys.argv[2])
url = f"{os.environ['FORMSVC_BASE_URL']}/api/v1/forms/{form}/submissions"
session = requests.Session()
session.headers["Authorization"] = f"Bearer {os.environ['FORMSVC_API_KEY']}"

rows, cursor = 0, None
while True:
    answer = session.get(url, params={"limit": 100, "cursor": cursor})
    answer.raise_for_status()
    page = answer.json()
    rows += len(page["data"])
    if not page["pagination"]["has_more"]:
        break
    cursor = page["pagination"]["next_cursor"]
if rows != expected:
    sys.exit(f"read {rows} of {expected} rows")
