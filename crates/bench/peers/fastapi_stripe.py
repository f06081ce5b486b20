"""A receiver as the documentation of PyPI's `stripe` shows it, on FastAPI and uvicorn, with one worker:
verifies each delivery, and remembers in memory which it has handled."""

import json
import os
import socket
import sys
import threading

import stripe
import uvicorn
from fastapi import FastAPI, Request, Response

SECRET = os.environ["WEBHOOK_SECRET"]
handled = set()
app = FastAPI()


@app.post("/hook")
async def hook(request: Request) -> Response:
    body = await request.body()
    signature = request.headers.get("x-service-signature", "")
    try:
        event = stripe.Webhook.construct_event(body, signature, SECRET)
    except (ValueError, stripe.SignatureVerificationError) as error:
        return Response(str(error), status_code=400)
    submission = event["submission_id"]
    if submission not in handled:
        handled.add(submission)
    return Response(status_code=200)


def end_with_the_benchmark() -> None:
    sys.stdin.read()
    os._exit(0)


threading.Thread(target=end_with_the_benchmark, daemon=True).start()
listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
print(json.dumps({"addr": f"127.0.0.1:{listener.getsockname()[1]}"}), flush=True)
# uvloop and httptools are taken where they are installed.
config = uvicorn.Config(app, log_level="error", access_log=False)
uvicorn.Server(config).run(sockets=[listener])
