#!/usr/bin/env python3
"""Receives webhooks: verifies each delivery, stores it once, responds, and processes it afterwards.

    FORMSVC_SIGNING_SECRET=whsec_... python3 receiver.py [PORT]

Needs only Python, no packages. Stores submissions in the file FORMSVC_INBOX, by default
~/.local/state/webhook-receiver/python.db.
"""

import hashlib
import hmac
import json
import os
import queue
import sqlite3
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ.get("FORMSVC_SIGNING_SECRET", "").encode()
STATE = os.path.join(os.path.expanduser("~"), ".local", "state", "webhook-receiver")
INBOX = os.environ.get("FORMSVC_INBOX") or os.path.join(STATE, "python.db")
SHOWN_MAX = 200  # characters of an answer
BODY_MAX = 1 << 20
TOLERANCE = 300  # seconds in the past or future
WORK = queue.Queue()


def is_right(header, body, now):
    """Returns whether the service signed these bytes within the tolerance. `body` is not decoded."""
    pairs = [part.partition("=") for part in header.split(",")]
    times = [value for key, _, value in pairs if key == "t"]
    signatures = [value for key, _, value in pairs if key == "v1"]
    if len(times) != 1 or not signatures:
        return False
    if not (times[0].isascii() and times[0].isdigit() and len(times[0]) < 12):
        return False
    signed = times[0].encode() + b"." + body
    expected = hmac.new(SECRET, signed, hashlib.sha256).hexdigest().encode()
    # One match is enough: during the rotation of a secret there are two signatures.
    matches = [hmac.compare_digest(expected, one.encode()) for one in signatures]
    age = now - int(times[0])
    return any(matches) and abs(age) <= TOLERANCE


def inbox():
    """Opens the inbox; each thread needs its own connection."""
    connection = sqlite3.connect(INBOX, timeout=5)
    connection.execute(
        "CREATE TABLE IF NOT EXISTS deliveries"
        " (submission_id TEXT PRIMARY KEY, body BLOB NOT NULL, handled_at REAL)"
    )
    return connection


def keep(submission_id, body):
    """Stores a submission durably. Returns false for a known one."""
    connection = inbox()
    with connection:
        kept = connection.execute(
            "INSERT INTO deliveries (submission_id, body) VALUES (?, ?) ON CONFLICT DO NOTHING",
            (submission_id, body),
        )
    connection.close()
    return kept.rowcount == 1


def handle(event):
    """Processes a submission: put your code here. It may take any time."""
    # repr() escapes control characters, which would act on the terminal. A submission can have a megabyte.
    print(repr(event["submission_id"])[:SHOWN_MAX], repr(event["data"])[:SHOWN_MAX], flush=True)


def work():
    """Handles the stored submissions, also those of earlier runs. After an error it continues with the
    next one, and retries the failed one with the next delivery."""
    while True:
        connection = inbox()
        waiting = "SELECT submission_id, body FROM deliveries WHERE handled_at IS NULL"
        for submission_id, body in connection.execute(waiting).fetchall():
            try:
                handle(json.loads(body))
            except Exception as error:
                print("not handled:", repr(submission_id)[:SHOWN_MAX], repr(error)[:SHOWN_MAX], file=sys.stderr)
                continue
            with connection:
                done = "UPDATE deliveries SET handled_at = ? WHERE submission_id = ?"
                connection.execute(done, (time.time(), submission_id))
        connection.close()
        WORK.get()


class Receiver(BaseHTTPRequestHandler):
    timeout = 10  # seconds, for senders that stop in the middle of a request

    def do_POST(self):
        self.answer(self.take())

    def take(self):
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            return 411
        if len(length) > 9 or int(length) > BODY_MAX:
            return 413
        body = self.rfile.read(int(length))
        headers = self.headers.get_all("X-Service-Signature", [])
        if len(headers) != 1 or not is_right(headers[0], body, time.time()):
            return 401
        try:
            event = json.loads(body)
            kind = event["event"]
            if kind != "submission.created":
                # Not handled here. A response other than 2xx would cause useless retries.
                return 200
            submission_id = str(event["submission_id"])
        except (ValueError, KeyError, TypeError):
            return 400
        if keep(submission_id, body):
            WORK.put(None)
        return 200

    def answer(self, status):
        """Responds with only the status, because a text could reveal something to strangers."""
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def main():
    if not SECRET:
        sys.exit("set FORMSVC_SIGNING_SECRET to the signing secret of the endpoint")
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 9000
    # Loopback only: the proxy in front of it handles HTTPS.
    server = ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    if not os.environ.get("FORMSVC_INBOX"):
        os.makedirs(STATE, mode=0o700, exist_ok=True)
    inbox().close()
    threading.Thread(target=work, daemon=True).start()
    print("listening on http://127.0.0.1:%d/" % server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
