// Strangers' text, made visible: what does not show or turns the direction of writing is named.

// What a terminal would act on, and what shows as nothing; joiners stay, for they make words and emoji.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e007f}\ud800-\udfff]/gu;

const name = (char) => `⟨U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`;

/** Text on lines of its own, with nothing unseen in it. */
export const visible = (text) => text.replace(/\r\n/g, '\n').replace(UNSEEN, name);

/** Text as it is, line ends named too where they are not the usual ones. */
export const exact = (text) => text.replace(/\r(?=\n)/g, name).replace(UNSEEN, name);

/** The text that `exact` names things of, with them in it. */
const unnamed = (text) => text.replace(/⟨U\+([0-9A-F]{4,6})⟩/g, (_, digits) => String.fromCodePoint(parseInt(digits, 16)));

/** Text to edit, in which nothing is unseen, and the way back; undefined where there is none. */
export function editable(text) {
  const named = exact(text);
  return unnamed(named) === text ? { text: named, back: unnamed } : undefined;
}

/** Text on one line. */
export const oneLine = (text) => visible(text).replace(/[\n\t]+/g, ' ');

/** Bytes as people read sizes. */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Milliseconds as people read them. */
export function span(ms) {
  if (ms < 1000) return `${ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 120) return `${Math.round(seconds * 10) / 10} s`;
  const minutes = seconds / 60;
  if (minutes < 120) return `${Math.round(minutes * 10) / 10} min`;
  const hours = minutes / 60;
  return hours < 48 ? `${Math.round(hours * 10) / 10} h` : `${Math.round(hours / 24)} days`;
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'long', timeStyle: 'long' });

/** An instant, of today by its time alone. */
export function instant(iso) {
  const at = new Date(iso);
  const time = clock.format(at);
  return at.toDateString() === new Date().toDateString() ? time : `${day.format(at)}, ${time}`;
}

/** An instant, whole. */
export const instantWhole = (iso) => `${whole.format(new Date(iso))} (${iso})`;

/**
 * JSON with its values on lines of their own, every value spelled as it came: numbers keep their digits,
 * keys their order and their repetitions. Ends after so many characters. Undefined for what is no JSON.
 */
export function pretty(text, most) {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/gs;
  const line = (depth) => `\n${'  '.repeat(Math.min(depth, 40))}`;
  let [out, depth, opened] = ['', 0, false];
  for (let match = token.exec(text); match && out.length <= most; match = token.exec(text)) {
    const part = match[0];
    if (part === '}' || part === ']') {
      depth -= 1;
      out += opened ? part : line(depth) + part;
      opened = false;
      continue;
    }
    if (opened) out += line(depth);
    opened = part === '{' || part === '[';
    if (opened) depth += 1;
    out += part === ',' ? `,${line(depth)}` : part === ':' ? ': ' : part;
  }
  return out;
}

/** Bytes as hex beside what of them is text, sixteen a line. */
export function hex(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const some = bytes.subarray(at, at + 16);
    const digits = Array.from(some, (byte) => byte.toString(16).padStart(2, '0'));
    const left = digits.slice(0, 8).join(' ');
    const right = digits.slice(8).join(' ');
    const chars = Array.from(some, (byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : '·'));
    lines.push(`${at.toString(16).padStart(8, '0')}  ${left.padEnd(23)}  ${right.padEnd(23)}  ${chars.join('')}`);
  }
  return lines.join('\n');
}

/** The text that bytes are, or undefined. */
export function textOf(bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The bytes of base64. */
export const bytesOf = (base64) => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));

/** Base64 of bytes. */
export function base64(bytes) {
  let text = '';
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}
