#!/usr/bin/env python3
"""Compares a server's responses with docs/openapi.json.

usage: check.py PATH-OF-FORMSVC-SERVER

The document must be valid by the official schema of OpenAPI 3.1. A server is started on a fresh database,
and every operation is requested until each of the statuses below was received: status, headers, media type
and body must be as described. The wire fixtures must match the schemas as well. Needs
`openapi-spec-validator` and its dependencies.
"""

import http.client
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.parse

from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

ROOT = pathlib.Path(__file__).resolve().parents[2]
WIRE = ROOT / "fixtures" / "wire"
FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


class Description:
    """The document, and the comparison of responses with it."""

    def __init__(self, document):
        self.document = document
        self.seen = set()

    def unseen(self):
        """Returns the operations without a response."""
        seen = {(method, path) for method, path, _ in self.seen}
        methods = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
        return sorted(
            f"{method.upper()} {path}"
            for path, item in self.document["paths"].items()
            for method in methods & item.keys()
            if (method.upper(), path) not in seen
        )

    def resolve(self, part):
        while "$ref" in part:
            found = self.document
            for step in part["$ref"].removeprefix("#/").split("/"):
                found = found[step.replace("~1", "/").replace("~0", "~")]
            part = found
        return part

    def errors(self, schema, value):
        whole = {**schema, "components": self.document["components"]}
        validator = Draft202012Validator(whole)
        return [f"{'/'.join(map(str, e.absolute_path))}: {e.message}" for e in validator.iter_errors(value)]

    def check(self, method, path, status, headers, body):
        """Returns the errors in the response to an operation."""
        operation = self.document["paths"][path][method.lower()]
        response = operation["responses"].get(str(status))
        if response is None:
            return [f"{status} is not described"]
        self.seen.add((method, path, str(status)))
        response = self.resolve(response)
        wrong = []
        for name, header in response.get("headers", {}).items():
            header = self.resolve(header)
            value = headers.get(name)
            if value is None:
                wrong += [f"no header {name}"] if header.get("required") else []
                continue
            if header["schema"]["type"] == "integer":
                value = int(value)
            wrong += [f"{name}: {error}" for error in self.errors(header["schema"], value)]
        content = response.get("content")
        if content is None:
            return wrong + ([f"a body of {len(body)} bytes"] if body else [])
        media_type = (headers.get("content-type") or "").split(";")[0]
        if media_type not in content:
            return wrong + [f"the media type is {media_type!r}"]
        schema = content[media_type]["schema"]
        value = json.loads(body) if media_type == JSON else body.decode()
        return wrong + self.errors(schema, value)


class Server:
    """A server on a fresh database, with a user, a key, and forms."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        self.ready = folder / "ready.json"
        self.run("user", "add", "--email", "a@example.org", "--name", "A")
        self.key = self.make_key("k")
        self.revoked = self.make_key("revoked")
        listed = self.run("key", "list", "--user", "a@example.org", "--output", "json").splitlines()
        named = {key["name"]: key["id"] for key in map(json.loads, listed)}
        self.run("key", "revoke", named["revoked"])
        self.run("seed", "--user", "a@example.org", "--public-id", "seeded", "--submissions", "250")
        fields = folder / "fields.json"
        fields.write_text('[{"label":"Name","type":"text","required":true}]')
        create = ["form", "create", "--user", "a@example.org", "--title"]
        self.run(*create, "Contact", "--public-id", "contact", "--fields", str(fields))
        self.run(*create, "Own", "--public-id", "own", "--origin", "https://own.example")
        self.run(*create, "Closed", "--public-id", "closed", "--status", "closed")

    def __enter__(self):
        """Starts the server. It is stopped also after an error."""
        self.process = subprocess.Popen(
            [self.binary, "serve", "--port", "0", "--ready-file", self.ready, "--log-level", "error"],
            env=self.environment(),
        )
        try:
            self.wait()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def wait(self):
        deadline = time.monotonic() + 30
        while not self.ready.exists():
            if time.monotonic() > deadline or self.process.poll() is not None:
                sys.exit("error: the server did not start")
            time.sleep(0.01)
        url = urllib.parse.urlsplit(json.loads(self.ready.read_text())["base_url"])
        self.address = (url.hostname, url.port)

    def environment(self):
        return {"PATH": "/usr/bin:/bin", "FORMSVC_SERVER_DATABASE": str(self.folder / "db")}

    def run(self, *arguments):
        command = [self.binary, *arguments]
        return subprocess.run(
            command, env=self.environment(), check=True, text=True, stdout=subprocess.PIPE
        ).stdout

    def make_key(self, name):
        return self.run("key", "create", "--user", "a@example.org", "--name", name).strip()

    def ask(self, method, target, headers=None, body=None):
        connection = http.client.HTTPConnection(*self.address, timeout=30)
        connection.request(method, target, body, headers or {})
        response = connection.getresponse()
        answer = response.status, response.headers, response.read()
        connection.close()
        return answer

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        finally:
            # Has no effect if the process has ended.
            self.process.kill()


def requests(server):
    """Yields the requests: (method, path of the document, target, headers, body, status)."""
    key = {"Authorization": f"Bearer {server.key}"}
    forms = json.loads(server.ask("GET", "/api/v1/forms", key)[2])["data"]
    seeded = next(form["id"] for form in forms if form["public_id"] == "seeded")
    me, listed = "/api/v1/me", "/api/v1/forms"
    page, form = "/api/v1/forms/{form_id}/submissions", "/f/{public_id}"
    of_seeded = f"/api/v1/forms/{seeded}/submissions"
    first = json.loads(server.ask("GET", of_seeded, key)[2])["pagination"]["next_cursor"]
    as_json = {"Content-Type": JSON}
    for path in (me, listed):
        yield "GET", path, path, key, None, 200
        yield "GET", path, path, {}, None, 401
        yield "GET", path, path, {"Authorization": "Bearer fsk_x"}, None, 401
        yield "GET", path, path, {"Authorization": f"Bearer {server.revoked}"}, None, 401
    yield "GET", page, of_seeded, key, None, 200
    yield "GET", page, f"{of_seeded}?limit=100&cursor={first}", key, None, 200
    yield "GET", page, f"{of_seeded}?cursor=2000-01-01T00:00:00Z", key, None, 200
    yield "GET", page, f"{of_seeded}?limit=101", key, None, 400
    yield "GET", page, "/api/v1/forms/frm_x/submissions", key, None, 404
    yield "GET", page, of_seeded, {}, None, 401
    yield "GET", form, "/f/contact", {}, None, 200
    yield "GET", form, "/f/none", {}, None, 404
    yield "GET", form, "/f/closed", {}, None, 410
    yield "POST", form, "/f/contact", as_json, '{"Name":"Zoë"}'.encode(), 201
    yield "POST", form, "/f/contact", {"Content-Type": FORM}, b"Name=a", 303
    yield "POST", form, "/f/contact", as_json, b"{}", 422
    keyed = {**as_json, "Idempotency-Key": "k"}
    yield "POST", form, "/f/contact", keyed, b'{"Name":"a"}', 201
    yield "POST", form, "/f/contact", keyed, b'{"Name":"b"}', 422
    yield "POST", form, "/f/contact", as_json, b"{", 400
    yield "POST", form, "/f/contact", {"Content-Type": "text/plain", "Accept": JSON}, b"", 415
    yield "POST", form, "/f/contact", as_json, b" " * (257 << 10), 413
    yield "POST", form, "/f/none", as_json, b"{}", 404
    yield "POST", form, "/f/closed", as_json, b"{}", 410
    # Errors as pages, the default format.
    as_form = {"Content-Type": FORM}
    yield "POST", form, "/f/none", as_form, b"a=1", 404
    yield "POST", form, "/f/closed", as_form, b"a=1", 410
    yield "POST", form, "/f/contact", as_form, b"", 422
    yield "POST", form, "/f/contact", as_form, b"a=%", 400
    yield "POST", form, "/f/contact", as_form, b" " * (257 << 10), 413
    yield "POST", form, "/f/contact", {"Content-Type": "text/plain"}, b"", 415
    yield "POST", form, "/f/own", {**as_form, "Origin": "https://other.example"}, b"a=1", 403
    yield "GET", form, "/f/none", {"Accept": JSON}, None, 404
    yield "POST", form, "/f/own", {**as_json, "Origin": "https://other.example"}, b"{}", 403
    for _ in range(30):
        # Reaches the sender's limit. The responses before it are tested above.
        yield "POST", form, "/f/seeded", as_json, b'{"a":1}', None
    yield "POST", form, "/f/seeded", as_json, b'{"a":1}', 429
    yield "POST", form, "/f/seeded", as_form, b"a=1", 429
    yield "GET", "/livez", "/livez", {}, None, 200
    yield "GET", "/readyz", "/readyz", {}, None, 200
    yield "GET", "/metrics", "/metrics", {}, None, 200
    yield "GET", "/openapi.json", "/openapi.json", {}, None, 200
    for _ in range(300):
        yield "GET", me, me, key, None, None
    for path, target in ((me, me), (listed, listed), (page, of_seeded)):
        yield "GET", path, target, key, None, 429


def fixtures(description):
    """Returns the errors in the wire fixtures."""
    schemas = {"user": "User", "form": "Form", "form_list": "FormList", "page": "Page",
               "submission": "Submission", "pagination": "Pagination", "error": "Error"}
    for path in sorted(WIRE.glob("*.json")):
        named = [name for name in schemas if path.stem == name or path.stem.startswith(name + "_")]
        if path.stem == "webhook_event":
            continue
        schema = {"$ref": f"#/components/schemas/{schemas[max(named, key=len)]}"}
        for error in description.errors(schema, json.loads(path.read_text())):
            yield f"{path.name}: {error}"


def main(binary):
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        with Server(str(pathlib.Path(binary).resolve()), pathlib.Path(folder)) as server:
            served = server.ask("GET", "/openapi.json")[2]
            if served.decode() != (ROOT / "docs" / "openapi.json").read_text():
                wrong.append("docs/openapi.json is not what the server serves")
            document = json.loads(served)
            wrong += [f"no OpenAPI 3.1: {e.message}" for e in OpenAPIV31SpecValidator(document).iter_errors()]
            description = Description(document)
            asked = 0
            for method, path, target, headers, body, status in requests(server):
                got, got_headers, got_body = server.ask(method, target, headers, body)
                asked += 1
                found = description.check(method, path, got, got_headers, got_body)
                if status not in (None, got):
                    found.append(f"{got} and not {status}: {got_body[:200]!r}")
                wrong += [f"{method} {target}: {got}: {error}" for error in found]
        wrong += [f"{operation} was never answered as described" for operation in description.unseen()]
        wrong += fixtures(description)
    for line in wrong[:40]:
        print(f"error: {line}", file=sys.stderr)
    if wrong:
        sys.exit(1)
    print(f"{asked} answers, {len(description.seen)} of them different, are as described")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
