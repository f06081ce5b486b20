"""Runs the SQL of docs/EXPORTS.md on the exports in the current folder.

Usage: run_queries.py PAGE. Prints the number of queries; a query without a row is an error.
"""

import importlib.util
import os
import re
import sqlite3
import sys


def queries(block):
    lines = [line for line in block.splitlines() if not line.startswith("--")]
    return [query.strip() for query in "\n".join(lines).split(";\n") if query.strip(" \n;")]


def main(page):
    with open(page, encoding="utf-8") as file:
        blocks = re.findall("```sql\n(.*?)```", file.read(), re.DOTALL)
    count = 0
    for block in blocks:
        if "DuckDB" in block:
            if not os.path.exists("survey.parquet") or not importlib.util.find_spec("duckdb"):
                continue
            import duckdb

            connection = duckdb.connect()
        elif "frm_" in block:
            connection = sqlite3.connect("survey.sqlite")
        else:
            continue
        for query in queries(block):
            if not connection.execute(query).fetchall():
                sys.exit(f"no row: {query}")
            count += 1
    print(count)


main(sys.argv[1])
