"""Exports a form to CSV files with PyPI's `dlt`: export_dlt.py FORM ROWS DIR."""

import os
import sys
import tempfile

# Nothing is sent to the makers of dlt.
os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"
os.environ["RUNTIME__LOG_LEVEL"] = "ERROR"
# Plain CSV, as the other programs write.
os.environ["NORMALIZE__DATA_WRITER__DISABLE_COMPRESSION"] = "true"

import dlt
from dlt.sources.helpers.rest_client import RESTClient
from dlt.sources.helpers.rest_client.auth import BearerTokenAuth
from dlt.sources.helpers.rest_client.paginators import JSONResponseCursorPaginator

form, expected, directory = sys.argv[1], int(sys.argv[2]), sys.argv[3]
client = RESTClient(
    base_url=os.environ["FORMSVC_BASE_URL"],
    auth=BearerTokenAuth(os.environ["FORMSVC_API_KEY"]),
    paginator=JSONResponseCursorPaginator(
        cursor_path="pagination.next_cursor",
        cursor_param="cursor",
        has_more_path="pagination.has_more",
    ),
    data_selector="data",
)


def large_integers_as_text(row):
    """Replaces integers beyond 64 bits, which dlt refuses."""
    for label, value in row["data"].items():
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            row["data"][label] = str(value)
    return row


rows = 0


@dlt.resource(name="submissions")
def submissions():
    global rows
    for page in client.paginate(f"/api/v1/forms/{form}/submissions", params={"limit": 100}):
        rows += len(page)
        yield [large_integers_as_text(row) for row in page]


# State and intermediate files of each run start empty.
with tempfile.TemporaryDirectory(dir=directory) as work:
    pipeline = dlt.pipeline(
        "formsvc_bench",
        pipelines_dir=work,
        destination=dlt.destinations.filesystem(bucket_url=os.path.join(work, "out")),
        dataset_name="export",
    )
    pipeline.run(submissions(), loader_file_format="csv").raise_on_failed_jobs()
if rows != expected:
    sys.exit(f"read {rows} of {expected} rows")
