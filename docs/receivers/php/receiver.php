<?php
// Receives webhooks: verifies each delivery, stores it once, and responds; `work` handles the stored ones.
//
//     FORMSVC_SIGNING_SECRET=whsec_... php -S 127.0.0.1:9000 receiver.php    # to try it
//     php receiver.php work                                                  # by cron, each minute
//
// Needs only PHP 8.1, no packages. Stores submissions in the folder FORMSVC_INBOX, by default `inbox` beside
// the folder of this file, which a web server must not serve.
declare(strict_types=1);

const BODY_MAX = 1 << 20;
const TOLERANCE = 300; // seconds in the past or future

/** Returns whether the service signed these bytes within the tolerance. */
function is_right(string $secret, string $header, string $body, int $now): bool
{
    $times = $signatures = [];
    foreach (explode(',', $header) as $part) {
        [$key, $value] = explode('=', $part, 2) + ['', ''];
        if ($key === 't') {
            $times[] = $value;
        } elseif ($key === 'v1') {
            $signatures[] = $value;
        }
    }
    if (count($times) !== 1 || !preg_match('/^[0-9]{1,11}\z/', $times[0])) {
        return false;
    }
    $expected = hash_hmac('sha256', $times[0] . '.' . $body, $secret);
    // One match is enough: during the rotation of a secret there are two signatures.
    $matches = false;
    foreach ($signatures as $one) {
        $matches = hash_equals($expected, $one) || $matches;
    }
    $age = $now - (int) $times[0];
    return $matches && abs($age) <= TOLERANCE;
}

function inbox(): string
{
    $folder = getenv('FORMSVC_INBOX') ?: dirname(__DIR__) . '/inbox';
    if (!is_dir($folder) && !@mkdir($folder, 0700, true) && !is_dir($folder)) {
        throw new RuntimeException('the inbox cannot be made');
    }
    return $folder;
}

/** Stores a submission unless it is known: the file is complete or absent. */
function keep(string $submission_id, string $body): void
{
    // An id can be any text, so it cannot be a file name.
    $place = inbox() . '/' . hash('sha256', $submission_id) . '.json';
    $work = inbox() . '/.' . bin2hex(random_bytes(16)) . '.partial';
    $file = fopen($work, 'xb');
    if ($file === false || fwrite($file, $body) !== strlen($body) || !fsync($file)) {
        throw new RuntimeException('the inbox cannot be written');
    }
    fclose($file);
    $kept = @link($work, $place);
    unlink($work);
    if (!$kept && !file_exists($place)) {
        throw new RuntimeException('the inbox cannot be written');
    }
}

/** Processes a submission: put your code here. It may take any time. */
function handle(array $event): void
{
    // JSON escapes control characters, which would act on the terminal. A submission can have a megabyte.
    echo substr(json_encode([$event['submission_id'], $event['data']]), 0, 400), "\n";
}

/** Handles the stored submissions. After an error it retries them later. */
function work(): void
{
    // Only one process at a time: a second one, started by cron, exits.
    $alone = fopen(inbox() . '/.lock', 'cb');
    if (!flock($alone, LOCK_EX | LOCK_NB)) {
        return;
    }
    foreach (glob(inbox() . '/*.json') as $file) {
        if (file_exists("$file.handled")) {
            continue;
        }
        try {
            handle(json_decode(file_get_contents($file), true, 512, JSON_THROW_ON_ERROR));
            touch("$file.handled");
        } catch (Throwable $error) {
            error_log("not handled: $file: " . $error->getMessage());
        }
    }
}

/** Returns the status of the response. */
function take(string $secret): int
{
    if ($_SERVER['REQUEST_METHOD'] !== 'POST') {
        return 405;
    }
    // The received bytes; $_POST and parsed JSON differ from them.
    $body = (string) file_get_contents('php://input', false, null, 0, BODY_MAX + 1);
    if (strlen($body) > BODY_MAX) {
        return 413;
    }
    $header = $_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? null;
    if ($header === null || !is_right($secret, $header, $body, time())) {
        return 401;
    }
    $event = json_decode($body, true);
    if (!is_array($event)) {
        return 400;
    }
    if (($event['event'] ?? null) !== 'submission.created') {
        // Not handled here. A response other than 2xx would cause useless retries.
        return 200;
    }
    if (!is_string($event['submission_id'] ?? null)) {
        return 400;
    }
    keep($event['submission_id'], $body);
    return 200;
}

if (PHP_SAPI === 'cli') {
    if (($argv[1] ?? '') !== 'work') {
        fwrite(STDERR, "usage: php receiver.php work\n");
        exit(2);
    }
    work();
    exit(0);
}

try {
    // Errors go to the log, not into responses.
    ini_set('display_errors', '0');
    $secret = getenv('FORMSVC_SIGNING_SECRET');
    if ($secret === false || $secret === '') {
        throw new RuntimeException('set FORMSVC_SIGNING_SECRET to the signing secret of the endpoint');
    }
    $status = take($secret);
} catch (Throwable $error) {
    error_log($error->getMessage());
    $status = 500;
}
// Only the status, because a text could reveal something to strangers.
http_response_code($status);
