<?php
// Receives webhooks: verifies each delivery, keeps it once, and answers; `work` handles what is kept.
//
//     FORMSVC_SIGNING_SECRET=whsec_... php -S 127.0.0.1:9000 receiver.php    # to try it
//     php receiver.php work                                                  # by cron, each minute
//
// PHP 8.1 alone, no packages. What was kept is where FORMSVC_INBOX says, or in `inbox` beside the folder of
// this file: nowhere that a web server shows to anybody.
declare(strict_types=1);

const BODY_MAX = 1 << 20;
const TOLERANCE = 300; // seconds, either way

/** Whether the service signed these bytes, about now. */
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
    // One that matches is enough: while a secret is rotated there are two.
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

/** Keeps a submission, unless it was kept before: the file is there whole, or not at all. */
function keep(string $submission_id, string $body): void
{
    // An id is any text, and no name of a file.
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

/** What the receiver is for. It may take as long as it likes. */
function handle(array $event): void
{
    // JSON keeps what strangers wrote from acting on the terminal; not all of it, which may be a megabyte.
    echo substr(json_encode([$event['submission_id'], $event['data']]), 0, 400), "\n";
}

/** Handles what is kept. An error leaves it for the next time. */
function work(): void
{
    // One at a time: where cron comes again before this one is done, it goes away.
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

/** The status to answer with. */
function take(string $secret): int
{
    if ($_SERVER['REQUEST_METHOD'] !== 'POST') {
        return 405;
    }
    // The bytes as they came; $_POST and parsed JSON are others.
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
        // Not for us. Anything but 2xx would have it sent again, for nothing.
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
    // Errors belong in the log, and not in answers.
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
// The status alone: a text could only tell strangers something.
http_response_code($status);
