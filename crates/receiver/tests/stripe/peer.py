"""Signs and verifies with PyPI's `stripe`: reads cases from standard input, one JSON object a line, and
writes what it found."""

import json
import sys

from stripe import SignatureVerificationError, WebhookSignature


def takes(body, header, secret):
    """Whether it takes a body, which must be the same whether it comes as text or as bytes."""
    found = set()
    for payload in (body, body.encode()):
        try:
            found.add(WebhookSignature.verify_header(payload, header, secret, 300))
        except SignatureVerificationError:
            found.add(False)
    (verdict,) = found
    return verdict


for line in sys.stdin:
    case = json.loads(line)
    body, secret = case["body"], case["secret"]
    found = {
        "takes": takes(body, case["header"], secret),
        "takes_changed": takes(body + " ", case["header"], secret),
        "header": WebhookSignature.generate_signature_header(body, secret, case["time"]),
    }
    print(json.dumps(found))
