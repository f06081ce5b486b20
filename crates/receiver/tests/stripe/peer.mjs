// Signs and verifies with npm's `stripe`: reads cases from standard input, one JSON object a line, and
// writes what it found. The argument is the directory that `stripe` is installed in.

import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const Stripe = createRequire(`${process.argv[2]}/`)('stripe');
const { webhooks } = new Stripe('none');

// Whether it takes a body, which must be the same whether it comes as text or as bytes.
function takes(body, header, secret) {
  const found = [body, Buffer.from(body)].map((payload) => {
    try {
      return webhooks.signature.verifyHeader(payload, header, secret, 300);
    } catch (error) {
      if (error.type === 'StripeSignatureVerificationError') return false;
      throw error;
    }
  });
  if (found[0] !== found[1]) throw new Error('text and bytes differ');
  return found[0];
}

for await (const line of createInterface({ input: process.stdin })) {
  const { body, secret, time, header } = JSON.parse(line);
  const found = {
    takes: takes(body, header, secret),
    takes_changed: takes(`${body} `, header, secret),
    header: webhooks.generateTestHeaderString({ payload: body, secret, timestamp: time }),
  };
  console.log(JSON.stringify(found));
}
