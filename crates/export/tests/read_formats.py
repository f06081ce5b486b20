"""Reads exports in every format with independent readers and compares them with the CSV.

Usage: read_formats.py FOLDER, where FOLDER/0, FOLDER/1, … contain rows.csv and the other formats.
Prints JSON: the names of the readers, the tables of CSV, and the cells that differ beyond the losses that
docs/EXPORTS.md lists for each format.
"""

import csv
import datetime
import gzip
import importlib.util
import json
import os
import re
import sqlite3
import sys
from fractions import Fraction

csv.field_size_limit(2**31 - 1)
sys.setrecursionlimit(100_000)
sys.set_int_max_str_digits(0)

PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
EXCEL_CELL_MAX = 32_767
differences = []
readers = {"csv", "json", "sqlite3"}


def read_csv(path, delimiter=","):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=delimiter, strict=True))


def differs(case, reader, where, expected, found):
    differences.append([case, reader, where, repr(expected)[:200], repr(found)[:200]])


def compare(case, reader, table, rows, equal):
    """Compares rows (lists of cells without headings) with those of the CSV."""
    if len(rows) != len(table) - 1:
        differs(case, reader, "rows", len(table) - 1, len(rows))
    for number, (expected, found) in enumerate(zip(table[1:], rows)):
        if len(expected) != len(found):
            differs(case, reader, f"width of row {number}", len(expected), len(found))
        for column, (text, cell) in enumerate(zip(expected, found)):
            if not equal(text, cell):
                differs(case, reader, f"{number}/{column}", text, cell)


def equal_typed(text, cell):
    """A typed cell: null for an empty one, else the text or a number or boolean of the same value."""
    if cell is None:
        return text == ""
    if isinstance(cell, bool):
        return text == ("true" if cell else "false")
    if isinstance(cell, int):
        return text == str(cell)
    if isinstance(cell, float):
        return Fraction(text) == Fraction(repr(cell))
    if isinstance(cell, datetime.datetime):
        utc = cell.astimezone(datetime.timezone.utc)
        return text == utc.strftime("%Y-%m-%dT%H:%M:%S.") + f"{utc.microsecond // 1000:03d}Z"
    return text == cell


def equal_sqlite(text, cell):
    if cell in (0, 1) and isinstance(cell, int) and text in ("false", "true"):
        return text == ("true" if cell else "false")
    return equal_typed(text.replace("\0", "\ufffd"), cell)


def decode_xlsx(cell):
    """Decodes _xHHHH_, which openpyxl leaves to its user."""
    return re.sub("_x([0-9A-Fa-f]{4})_", lambda match: chr(int(match[1], 16)), cell)


def equal_xlsx(text, cell):
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if isinstance(cell, str):
        units = text.encode("utf-16-le", "surrogatepass")[: 2 * EXCEL_CELL_MAX]
        return units.decode("utf-16-le", "ignore") == decode_xlsx(cell)
    if isinstance(cell, (int, float)) and not isinstance(cell, bool):
        # Text such as 007 or 1e5 is no number.
        return bool(PLAIN_NUMBER.fullmatch(text)) and Fraction(text) == Fraction(repr(cell))
    return equal_typed(text, cell)


def read_json(case, folder, table):
    """Compares answers of JSON and NDJSON with the exact answers in SQLite."""
    database = sqlite3.connect(os.path.join(folder, "rows.sqlite"))
    exact = database.execute("SELECT id, created_at, data FROM submissions ORDER BY id").fetchall()
    with open(os.path.join(folder, "rows.ndjson"), encoding="utf-8", newline="") as file:
        lines = file.read().split("\n")
    with open(os.path.join(folder, "rows.json"), encoding="utf-8", newline="") as file:
        array = file.read()
    for (key, time, data), line in zip(exact, lines):
        expected = f'{{"id":{json.dumps(key)},"data":{data},"created_at":{json.dumps(time)}}}'
        if line != expected:
            differs(case, "ndjson", key, expected, line)
    if lines[-1] != "" or len(lines) != len(table):
        differs(case, "ndjson", "lines", len(table), len(lines))
    expected = "[]\n" if not exact else "[\n" + ",\n".join(lines[:-1]) + "\n]\n"
    if array != expected:
        differs(case, "json", "text", expected, array)
    # Python's parser is recursive: deep answers are compared as text only.
    if not re.search(r"\[{500}", array):
        items = json.loads(array, parse_int=str, parse_float=str)
        if [item["id"] for item in items] != [row[0] for row in table[1:]]:
            differs(case, "json", "ids", table, items)


def read_sqlite(case, folder, table):
    database = sqlite3.connect(os.path.join(folder, "rows.sqlite"))
    if database.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
        differs(case, "sqlite3", "integrity", "ok", "damaged")
    rows = database.execute("SELECT * FROM answers").fetchall()
    compare(case, "sqlite3", table, rows, equal_sqlite)


def read_xlsx(case, folder, table):
    import openpyxl

    path = os.path.join(folder, "rows.xlsx")
    workbook = openpyxl.load_workbook(path, read_only=False)
    sheet = workbook["Submissions"]
    width = len(table[0])
    rows = [list(row) for row in sheet.iter_rows(max_col=width, values_only=True)]
    rows = [row + [None] * (width - len(row)) for row in rows]
    headings = [decode_xlsx(cell or "") for cell in rows[0]]
    expected = [text.replace("\r\n", "\n").replace("\r", "\n") for text in table[0]]
    if headings != expected:
        differs(case, "openpyxl", "headings", expected, headings)
    # Rows without any cell at the end are not in the sheet.
    compare(case, "openpyxl", table, rows[1:], equal_xlsx)
    for row in sheet.iter_rows():
        for cell in row:
            if cell.data_type == "f" or cell.hyperlink:
                differs(case, "openpyxl", cell.coordinate, "text", cell.data_type)
    long = sum(len(t.encode("utf-16-le")) > 2 * EXCEL_CELL_MAX for row in table for t in row)
    notes = workbook["Notes"].max_row - 2 if "Notes" in workbook.sheetnames else 0
    if notes != long:
        differs(case, "openpyxl", "notes", long, notes)


def read_pyarrow(case, folder, table):
    import pyarrow.parquet

    path = os.path.join(folder, "rows.parquet")
    groups = pyarrow.parquet.ParquetFile(path).num_row_groups
    text = sum(len(cell.encode()) for row in table[1:] for cell in row)
    if groups != (2 if text > 20_000_000 else min(1, len(table) - 1)):
        differs(case, "pyarrow", "row groups", text, groups)
    read = pyarrow.parquet.read_table(path)
    columns = [column.to_pylist() for column in read.columns]
    compare(case, "pyarrow", table, [list(row) for row in zip(*columns)], equal_typed)
    if str(read.schema.field(1).type) != "timestamp[us, tz=UTC]":
        differs(case, "pyarrow", "created_at", "timestamp[us, tz=UTC]", str(read.schema.field(1).type))


def read_duckdb(case, folder, table):
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    path = os.path.join(folder, "rows.parquet")
    rows = connection.execute("SELECT * FROM read_parquet(?)", [path]).fetchall()
    compare(case, "duckdb", table, rows, equal_typed)
    # A filter by the name of each column finds the rows that have a value.
    names = [column[0] for column in connection.description]
    for name, cells in zip(names, zip(*rows)):
        quoted = '"' + name.replace('"', '""') + '"'
        if "\0" in name:
            continue
        query = f"SELECT count(*) FROM read_parquet(?) WHERE {quoted} IS NOT NULL"
        count = connection.execute(query, [path]).fetchone()[0]
        expected = sum(cell is not None for cell in cells)
        if count != expected:
            differs(case, "duckdb", f"filter by {name}", expected, count)


def main(root):
    optional = {"openpyxl": read_xlsx}
    if os.path.exists(os.path.join(root, "0", "rows.parquet")):
        optional |= {"pyarrow": read_pyarrow, "duckdb": read_duckdb}
    optional = {name: read for name, read in optional.items() if importlib.util.find_spec(name)}
    readers.update(optional)
    tables = []
    for case in sorted(os.listdir(root), key=int):
        folder = os.path.join(root, case)
        table = read_csv(os.path.join(folder, "rows.csv"))
        tables.append(table)
        if any(len(row) != len(table[0]) for row in table):
            differs(case, "csv", "width", len(table[0]), [len(row) for row in table])
        if read_csv(os.path.join(folder, "rows.tsv"), "\t") != table:
            differs(case, "csv", "tsv", "the table of CSV", "another one")
        for name in ["csv", "ndjson"]:
            with open(os.path.join(folder, f"rows.{name}"), "rb") as file:
                plain = file.read()
            with gzip.open(os.path.join(folder, f"rows.{name}.gz")) as file:
                if file.read() != plain:
                    differs(case, "gzip", name, "the same bytes", "others")
        read_json(case, folder, table)
        read_sqlite(case, folder, table)
        for read in optional.values():
            read(case, folder, table)
    json.dump({"readers": sorted(readers), "cases": tables, "differences": differences[:20]}, sys.stdout)


main(sys.argv[1])
