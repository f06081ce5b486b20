//! Twins: the changed lines of each receiver for each mistake, and the checks that fail.

use super::mistakes::Mistake::{self, *};
use super::process::{Change, Language};

/// A receiver with a mistake.
pub(super) struct Twin {
    pub(super) mistake: Mistake,
    pub(super) changes: &'static [Change],
    /// The checks that fail, in their order.
    pub(super) fails: &'static [&'static str],
}

const fn twin(mistake: Mistake, changes: &'static [Change]) -> Twin {
    Twin { mistake, changes, fails: mistake.fails() }
}

/// Returns the twins in a language.
pub(super) fn of(language: Language) -> impl Iterator<Item = &'static Twin> {
    let twins = match language {
        Language::Rust => &[][..],
        Language::Python => PYTHON,
        Language::Node => NODE,
        Language::Go => GO,
        Language::Php => PHP,
    };
    twins.iter()
}

const PYTHON: &[Twin] = &[
    Twin {
        // Python keeps the order of keys and the digits of whole numbers.
        fails: &["raw-escapes", "raw-pretty", "raw-numbers", "raw-newline"],
        ..twin(
            ReSerialises,
            &[(
                r#"signed = times[0].encode() + b"." + body"#,
                r#"body = json.dumps(json.loads(body), separators=(",", ":"), ensure_ascii=False).encode()
    signed = times[0].encode() + b"." + body"#,
            )],
        )
    },
    twin(NoAge, &[("any(matches) and abs(age) <= TOLERANCE", "any(matches)")]),
    twin(PastOnly, &[("abs(age) <= TOLERANCE", "age <= TOLERANCE")]),
    twin(
        Prefix,
        &[(
            "hmac.compare_digest(expected, one.encode())",
            "expected.startswith(one.encode()[:32])",
        )],
    ),
    twin(FirstV1, &[("for one in signatures]", "for one in signatures[:1]]")]),
    twin(LastV1, &[("for one in signatures]", "for one in signatures[-1:]]")]),
    twin(
        Conflict,
        &[(
            "        if keep(submission_id, body):\n            WORK.put(None)\n",
            "        if not keep(submission_id, body):\n            return 409\n",
        )],
    ),
    twin(
        Redirects,
        &[(
            "self.send_response(status)",
            "self.send_response(302)\n        self.send_header(\"Location\", \"/elsewhere\")",
        )],
    ),
    // Sleeps because being slow is the mistake.
    twin(Slow, &[("self.answer(self.take())", "time.sleep(2)\n        self.answer(self.take())")]),
    twin(
        Echoes,
        &[
            ("    age = now", "    Receiver.expected = expected\n    age = now"),
            (
                "self.send_header(\"Content-Length\", \"0\")\n        self.end_headers()",
                "text = getattr(Receiver, \"expected\", b\"\")\n        \
                 self.send_header(\"Content-Length\", str(len(text)))\n        \
                 self.end_headers()\n        self.wfile.write(text)",
            ),
        ],
    ),
    twin(
        UnsignedPasses,
        &[(
            "if len(headers) != 1 or not is_right(headers[0], body, time.time()):",
            "if headers and not is_right(headers[0], body, time.time()):",
        )],
    ),
    twin(
        UnknownFails,
        &[("                return 200\n", "                raise RuntimeError(kind)\n")],
    ),
    twin(
        Latin1,
        &[(
            "body = self.rfile.read(int(length))",
            "body = self.rfile.read(int(length)).decode(\"latin-1\").encode()",
        )],
    ),
    twin(NoCap, &[("len(length) > 9 or int(length) > BODY_MAX", "len(length) > 9")]),
];

const NODE: &[Twin] = &[
    Twin {
        // JavaScript puts keys that are numbers first.
        fails: &["raw-escapes", "raw-pretty", "raw-key-order", "raw-numbers", "raw-newline"],
        ..twin(ReSerialises, &[(".update(body);", ".update(JSON.stringify(JSON.parse(body)));")])
    },
    twin(NoAge, &[("matches.length > 0 && Math.abs(age) <= TOLERANCE", "matches.length > 0")]),
    twin(PastOnly, &[("Math.abs(age) <= TOLERANCE", "age <= TOLERANCE")]),
    twin(
        Prefix,
        &[(
            "given.length === expected.length && timingSafeEqual(given, expected)",
            "expected.subarray(0, 32).includes(given.subarray(0, 32))",
        )],
    ),
    twin(FirstV1, &[("signatures.filter((one)", "signatures.slice(0, 1).filter((one)")]),
    twin(LastV1, &[("signatures.filter((one)", "signatures.slice(-1).filter((one)")]),
    twin(
        Conflict,
        &[(
            "if (await keep(event.submission_id, body)) workLater();",
            "if (!(await keep(event.submission_id, body))) return 409;",
        )],
    ),
    twin(
        Redirects,
        &[(
            "response.writeHead(status, status === 413 ? { connection: \"close\" } : {});",
            "response.writeHead(302, { location: \"/elsewhere\" });",
        )],
    ),
    twin(
        Slow,
        &[(
            "  take(request)\n",
            "  new Promise((later) => setTimeout(later, 2000))\n    .then(() => take(request))\n",
        )],
    ),
    twin(
        Echoes,
        &[
            ("  const age =", "  globalThis.expected = expected;\n  const age ="),
            ("response.end();", "response.end(globalThis.expected);"),
        ],
    ),
    twin(
        UnsignedPasses,
        &[("header === undefined || !isRight(", "header !== undefined && !isRight(")],
    ),
    twin(
        UnknownFails,
        &[(
            "if (event?.event !== \"submission.created\") return 200;",
            "if (event?.event !== \"submission.created\") throw new Error(event.event);",
        )],
    ),
    twin(
        Latin1,
        &[(
            "return Buffer.concat(pieces);",
            "return Buffer.from(Buffer.concat(pieces).toString(\"latin1\"));",
        )],
    ),
    twin(NoCap, &[("const BODY_MAX = 1 << 20;", "const BODY_MAX = Infinity;")]),
];

const GO: &[Twin] = &[
    Twin {
        // Compacting keeps keys, escapes and digits.
        fails: &["raw-pretty", "raw-newline"],
        ..twin(
            ReSerialises,
            &[
                (
                    "\tmac.Write(body)",
                    "\tvar compact bytes.Buffer\n\tjson.Compact(&compact, body)\n\tmac.Write(compact.Bytes())",
                ),
                ("import (\n", "import (\n\t\"bytes\"\n"),
            ],
        )
    },
    twin(NoAge, &[("matches && age <= tolerance && age >= -tolerance", "matches && age == age")]),
    twin(PastOnly, &[("age <= tolerance && age >= -tolerance", "age <= tolerance")]),
    twin(
        Prefix,
        &[
            (
                "hmac.Equal([]byte(one), expected)",
                "strings.HasPrefix(string(expected), one[:min(len(one), 32)])",
            ),
            (
                "type event struct",
                "func min(a, b int) int {\n\tif a < b {\n\t\treturn a\n\t}\n\treturn b\n}\n\ntype event struct",
            ),
        ],
    ),
    twin(FirstV1, &[("range signatures {", "range append(signatures, \"\")[:1] {")]),
    twin(LastV1, &[("signatures = append(signatures, value)", "signatures = []string{value}")]),
    twin(
        Conflict,
        &[("if kept {\n\t\tr.workLater()\n", "if !kept {\n\t\treturn http.StatusConflict\n")],
    ),
    twin(
        Redirects,
        &[(
            "w.WriteHeader(status)",
            "w.Header().Set(\"Location\", \"/elsewhere\")\n\tstatus = http.StatusFound\n\tw.WriteHeader(status)",
        )],
    ),
    twin(
        Slow,
        &[(
            "status := r.take(w, request)",
            "time.Sleep(2 * time.Second)\n\tstatus := r.take(w, request)",
        )],
    ),
    twin(
        Echoes,
        &[
            ("\tage := now", "\tleak = expected\n\tage := now"),
            ("w.WriteHeader(status)", "w.WriteHeader(status)\n\tw.Write(leak)"),
            ("type event struct", "var leak []byte\n\ntype event struct"),
        ],
    ),
    twin(
        UnsignedPasses,
        &[("len(headers) != 1 || !r.isRight(", "len(headers) > 0 && !r.isRight(")],
    ),
    twin(
        UnknownFails,
        &[(
            "\t\t// Not handled here. A response other than 2xx would cause useless retries.\n\t\treturn http.StatusOK",
            "\t\tpanic(e.Event)",
        )],
    ),
    twin(
        Latin1,
        &[(
            "\theaders := request.Header",
            "\trunes := []rune{}\n\tfor _, one := range body {\n\t\trunes = append(runes, rune(one))\n\t}\n\t\
             body = []byte(string(runes))\n\theaders := request.Header",
        )],
    ),
    twin(NoCap, &[("bodyMax   = 1 << 20", "bodyMax   = 1 << 40")]),
];

const PHP: &[Twin] = &[
    Twin {
        // PHP escapes slashes and all that is not ASCII.
        fails: &["raw-unicode", "raw-escapes", "raw-pretty", "raw-numbers", "raw-newline"],
        ..twin(
            ReSerialises,
            &[(
                "$times[0] . '.' . $body",
                "$times[0] . '.' . json_encode(json_decode($body, true))",
            )],
        )
    },
    twin(NoAge, &[("$matches && abs($age) <= TOLERANCE", "$matches")]),
    twin(PastOnly, &[("abs($age) <= TOLERANCE", "$age <= TOLERANCE")]),
    twin(
        Prefix,
        &[("hash_equals($expected, $one)", "str_starts_with($expected, substr($one, 0, 32))")],
    ),
    twin(
        FirstV1,
        &[("foreach ($signatures as $one)", "foreach (array_slice($signatures, 0, 1) as $one)")],
    ),
    twin(LastV1, &[("$signatures[] = $value", "$signatures = [$value]")]),
    twin(
        Conflict,
        &[(
            "    keep($event['submission_id'], $body);",
            "    if (file_exists(inbox() . '/' . hash('sha256', $event['submission_id']) . '.json')) {\n        \
             return 409;\n    }\n    keep($event['submission_id'], $body);",
        )],
    ),
    twin(
        Redirects,
        &[("http_response_code($status);", "header('Location: /elsewhere', true, 302);")],
    ),
    // Sleeps because being slow is the mistake.
    twin(Slow, &[("$status = take($secret);", "sleep(2);\n    $status = take($secret);")]),
    twin(
        Echoes,
        &[
            ("    $age = $now", "    $GLOBALS['expected'] = $expected;\n    $age = $now"),
            (
                "http_response_code($status);",
                "http_response_code($status);\necho $GLOBALS['expected'] ?? '';",
            ),
        ],
    ),
    twin(UnsignedPasses, &[("$header === null || !is_right(", "$header !== null && !is_right(")]),
    twin(
        UnknownFails,
        &[(
            "        // Not handled here. A response other than 2xx would cause useless retries.\n        return 200;",
            "        throw new RuntimeException('unknown');",
        )],
    ),
    twin(
        Latin1,
        &[(
            "    if (strlen($body) > BODY_MAX) {",
            "    $body = iconv('ISO-8859-1', 'UTF-8', $body);\n    if (strlen($body) > BODY_MAX) {",
        )],
    ),
    twin(NoCap, &[("const BODY_MAX = 1 << 20;", "const BODY_MAX = 1 << 24;")]),
];
