#!/usr/bin/env python3
"""Receives webhooks: verifies each delivery, keeps it once, answers, and works on it afterwards.

    FORMSVC_SIGNING_SECRET=whsec_... python3 receiver.py [PORT]

Python alone, no packages. What was kept is in ~/.local/state/webhook-receiver/python.db, or where
FORMSVC_INBOX says.
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
SHOWN_MAX = 200  # characters of what was sent
BODY_MAX = 1 << 20
TOLERANCE = 300  # seconds, either way
WORK = queue.Queue()


def is_right(header, body, now):
    """Whether the service signed these bytes, about now. `body` is what came, not yet decoded."""
    pairs = [part.partition("=") for part in header.split(",")]
    times = [value for key, _, value in pairs if key == "t"]
    signatures = [value for key, _, value in pairs if key == "v1"]
    if len(times) != 1 or not signatures:
        return False
    if not (times[0].isascii() and times[0].isdigit() and len(times[0]) < 12):
        return False
    signed = times[0].encode() + b"." + body
    expected = hmac.new(SECRET, signed, hashlib.sha256).hexdigest().encode()
    # One that matches is enough: while a secret is rotated there are two.
    matches = [hmac.compare_digest(expected, one.encode()) for one in signatures]
    age = now - int(times[0])
    return any(matches) and abs(age) <= TOLERANCE


def inbox():
    """The inbox; each thread needs a connection of its own."""
    connection = sqlite3.connect(INBOX, timeout=5)
    connection.execute(
        "CREATE TABLE IF NOT EXISTS deliveries"
        " (submission_id TEXT PRIMARY KEY, body BLOB NOT NULL, handled_at REAL)"
    )
    return connection


def keep(submission_id, body):
    """Keeps a submission, durably. False where it was kept before."""
    connection = inbox()
    with connection:
        kept = connection.execute(
            "INSERT INTO deliveries (submission_id, body) VALUES (?, ?) ON CONFLICT DO NOTHING",
            (submission_id, body),
        )
    connection.close()
    return kept.rowcount == 1


def handle(event):
    """What the receiver is for. It may take as long as it likes."""
    # repr() keeps what strangers wrote from acting on the terminal; not all of it, which may be a megabyte.
    print(repr(event["submission_id"])[:SHOWN_MAX], repr(event["data"])[:SHOWN_MAX], flush=True)


def work():
    """Handles what is kept, also what a run before this one left. Goes on with the next after an error,
    and comes back to that one with the next delivery."""
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
    timeout = 10  # for a sender that stops in the middle

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
                # Not for us. Anything but 2xx would have it sent again, for nothing.
                return 200
            submission_id = str(event["submission_id"])
        except (ValueError, KeyError, TypeError):
            return 400
        if keep(submission_id, body):
            WORK.put(None)
        return 200

    def answer(self, status):
        """Answers with the status alone: a text could only tell strangers something."""
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def main():
    if not SECRET:
        sys.exit("set FORMSVC_SIGNING_SECRET to the signing secret of the endpoint")
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 9000
    # This machine alone: what is in front of it speaks HTTPS.
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
