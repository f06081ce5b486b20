// Receives webhooks: verifies each delivery, stores it once, responds, and processes it afterwards.
//
//     FORMSVC_SIGNING_SECRET=whsec_... node receiver.mjs [PORT]
//
// Needs only Node.js, no packages. Stores submissions in the folder FORMSVC_INBOX, by default
// ~/.local/state/webhook-receiver/node.

import { createHash, createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { link, open, readFile, readdir, unlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { homedir } from "node:os";
import { join } from "node:path";

const SECRET = process.env.FORMSVC_SIGNING_SECRET ?? "";
const INBOX = process.env.FORMSVC_INBOX || join(homedir(), ".local/state/webhook-receiver/node");
const SHOWN_MAX = 200; // characters of an answer
const BODY_MAX = 1 << 20;
const TOLERANCE = 300; // seconds in the past or future

/** Returns whether the service signed these bytes within the tolerance. `body` is a Buffer, not decoded. */
function isRight(header, body, now) {
  const pairs = header.split(",").map((part) => {
    const at = part.indexOf("=");
    return at < 0 ? ["", part] : [part.slice(0, at), part.slice(at + 1)];
  });
  const times = pairs.filter(([key]) => key === "t").map(([, value]) => value);
  const signatures = pairs.filter(([key]) => key === "v1").map(([, value]) => value);
  // Only digits are a time: Number("now") is NaN, which is neither too old nor too new.
  if (times.length !== 1 || !/^[0-9]{1,11}$/.test(times[0]) || signatures.length === 0) return false;
  const hmac = createHmac("sha256", SECRET).update(`${times[0]}.`).update(body);
  const expected = Buffer.from(hmac.digest("hex"));
  // One match is enough: during the rotation of a secret there are two signatures.
  const matches = signatures.filter((one) => {
    const given = Buffer.from(one);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  const age = now - Number(times[0]);
  return matches.length > 0 && Math.abs(age) <= TOLERANCE;
}

/** Returns the file of a submission. An id can be any text, so it cannot be a file name. */
function place(submissionId) {
  return join(INBOX, `${createHash("sha256").update(submissionId).digest("hex")}.json`);
}

/** Stores a submission durably: the file is complete or absent. Returns false for a known one. */
async function keep(submissionId, body) {
  const work = join(INBOX, `.${randomUUID()}.partial`);
  const file = await open(work, "wx", 0o600);
  try {
    await file.writeFile(body);
    await file.sync();
    await file.close();
    await link(work, place(submissionId));
    // The name of a new file is durable once the folder is synced.
    const folder = await open(INBOX, "r");
    await folder.sync();
    await folder.close();
    return true;
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  } finally {
    await unlink(work);
  }
}

/** Processes a submission: put your code here. It may take any time. */
async function handle(event) {
  // JSON escapes control characters, which would act on the terminal. A submission can have a megabyte.
  const shown = (value) => String(JSON.stringify(value)).slice(0, SHOWN_MAX);
  console.log(shown(event.submission_id), shown(event.data));
}

/** Handles the stored submissions, also those of earlier runs. After an error it retries them later. */
async function work() {
  for (const name of await readdir(INBOX)) {
    const file = join(INBOX, name);
    if (!name.endsWith(".json") || existsSync(`${file}.handled`)) continue;
    try {
      await handle(JSON.parse(await readFile(file, "utf8")));
      await writeFile(`${file}.handled`, "");
    } catch (error) {
      console.error("not handled:", name, error.message);
    }
  }
}

let working = Promise.resolve();
const workLater = () => (working = working.then(work).catch((error) => console.error(error.message)));

/** Returns the body of a request; nothing if it exceeds the limit. */
async function read(request) {
  if (Number(request.headers["content-length"]) > BODY_MAX) return undefined;
  const pieces = [];
  let length = 0;
  for await (const piece of request) {
    length += piece.length;
    if (length > BODY_MAX) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Returns the status of the response. */
async function take(request) {
  if (request.method !== "POST") return 405;
  const body = await read(request);
  if (body === undefined) return 413;
  const header = request.headers["x-service-signature"];
  if (header === undefined || !isRight(header, body, Date.now() / 1000)) return 401;
  let event;
  try {
    event = JSON.parse(body.toString("utf8"));
  } catch {
    return 400;
  }
  // Not handled here. A response other than 2xx would cause useless retries.
  if (event?.event !== "submission.created") return 200;
  if (typeof event.submission_id !== "string") return 400;
  if (await keep(event.submission_id, body)) workLater();
  return 200;
}

if (SECRET === "") {
  console.error("set FORMSVC_SIGNING_SECRET to the signing secret of the endpoint");
  process.exit(1);
}
mkdirSync(INBOX, { recursive: true, mode: 0o700 });
workLater();

const server = createServer((request, response) => {
  take(request)
    .catch((error) => (console.error(error.message), 500))
    .then((status) => {
      // Only the status, because a text could reveal something to strangers. After a body that was not read to
      // its end, the connection cannot be used again.
      response.writeHead(status, status === 413 ? { connection: "close" } : {});
      response.end();
    });
});
server.headersTimeout = 10_000;
server.requestTimeout = 10_000; // milliseconds, for senders that stop in the middle of a request
// Loopback only: the proxy in front of it handles HTTPS.
server.listen(Number(process.argv[2] ?? 9000), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/`);
});
