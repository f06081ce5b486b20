#!/usr/bin/env python3
"""Prints each delivery and whether its signature is valid. Needs only Python, no packages.

    FORMSVC_SIGNING_SECRET=whsec_... python3 examples/receiver.py [PORT]

Without the variable it asks for the secret.
"""

import getpass
import hashlib
import hmac
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

VARIABLE = "FORMSVC_SIGNING_SECRET"
TOLERANCE_SECONDS = 300
BODY_MAX = 1 << 20
SECRET = b""


def verdict(header, body, secret, now):
    """Verifies the signature by the rules of SPEC section 5 and returns the result as text."""
    parts = [part.split("=", 1) for part in header.split(",") if "=" in part]
    times = [value for key, value in parts if key == "t"]
    signatures = [value for key, value in parts if key == "v1"]
    if len(times) != 1 or not (times[0].isascii() and times[0].isdigit()) or not signatures:
        return "malformed"
    expected = hmac.new(secret, times[0].encode() + b"." + body, hashlib.sha256).hexdigest()
    # Compares all signatures, so that the response time does not depend on the result.
    matches = [hmac.compare_digest(expected.encode(), one.encode()) for one in signatures]
    if not any(matches):
        return "wrong signature"
    if abs(now - int(times[0])) > TOLERANCE_SECONDS:
        return "too old, or from the future"
    return "verified"


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        length = self.headers.get("Content-Length", "0")
        if not (length.isascii() and length.isdigit()) or int(length) > BODY_MAX:
            return self.send_error(413)
        body = self.rfile.read(int(length))
        found = verdict(self.headers.get("X-Service-Signature", ""), body, SECRET, time.time())
        # repr() escapes control characters, which would change the terminal.
        print(time.strftime("%H:%M:%S"), found, repr(body.decode("utf-8", "replace")), flush=True)
        self.send_response(200 if found == "verified" else 400)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def read_secret():
    """Returns the secret from the environment, or asks for it. Accepts a pasted `export ...=` line."""
    try:
        text = os.environ.get(VARIABLE) or getpass.getpass("Signing secret: ")
    except EOFError:
        text = ""
    secret = text.strip().removeprefix("export ").strip().removeprefix(VARIABLE + "=").strip("'\"")
    if not secret.startswith("whsec_"):
        sys.exit("a signing secret begins with whsec_; `formsvc sandbox --webhook` prints one")
    return secret.encode()


def read_port(arguments):
    port = arguments[0] if arguments else "9000"
    if len(arguments) > 1 or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        sys.exit("usage: receiver.py [PORT], a whole number up to 65535")
    return int(port)


def main():
    global SECRET
    port = read_port(sys.argv[1:])
    SECRET = read_secret()
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    except OSError as error:
        sys.exit("cannot listen on port %d: %s" % (port, error.strerror))
    print("listening on http://127.0.0.1:%d/" % server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        # Users end the program with Ctrl-C.
        print(file=sys.stderr)
