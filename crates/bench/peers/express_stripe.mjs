// A receiver as the documentation of npm's `stripe` shows it, on Express: verifies each delivery, and
// remembers in memory which it has handled. Packages are those of the working directory.

import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.cwd(), "package.json"));
const express = require("express");
const Stripe = require("stripe");

// No request is made with it.
const stripe = new Stripe("sk_test_unused");
const secret = process.env.WEBHOOK_SECRET;
const handled = new Set();
const app = express();

app.post("/hook", express.raw({ type: "application/json" }), (request, response) => {
  let event;
  try {
    const signature = request.headers["x-service-signature"];
    event = stripe.webhooks.constructEvent(request.body, signature, secret);
  } catch (error) {
    response.status(400).send(error.message);
    return;
  }
  if (!handled.has(event.submission_id)) {
    handled.add(event.submission_id);
  }
  response.sendStatus(200);
});

const server = app.listen(0, "127.0.0.1", () => {
  console.log(JSON.stringify({ addr: `127.0.0.1:${server.address().port}` }));
});
// The benchmark closes it when it is done, or gone.
process.stdin.on("end", () => process.exit(0)).resume();
