// Formats texts, times and bytes. Invisible characters in untrusted text are replaced by their code points.

// Control characters, characters that change the text direction, and invisible ones. A test compares these constants
// with crates/protocol/src/printable.rs.
const CHARACTERS = String.raw`\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e007f}\ud800-\udfff`;
// Zero-width joiners are allowed, because words and emoji need them.
const JOINERS = String.raw`\u200c\u200d`;
// Variation selectors choose the form of the character before them. After another selector, a joiner, a space or an
// ASCII character that is not part of a keycap, they have no effect and can hide text.
const SELECTORS = String.raw`\u180b-\u180d\u180f\ufe00-\ufe0f\u{e0100}-\u{e01ef}`;
const UNSEEN = new RegExp(`[${CHARACTERS}]|(?<![0-9#*]|[^\\s\\u0000-\\u007f${CHARACTERS}${JOINERS}${SELECTORS}])[${SELECTORS}]`, 'gu');

const name = (char) => `⟨U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`;

/** Returns text with its line breaks and without invisible characters. */
export const visible = (text) => text.replace(/\r\n/g, '\n').replace(UNSEEN, name);

/** Returns text in which carriage returns are visible too. */
export const exact = (text) => text.replace(/\r(?=\n)/g, name).replace(UNSEEN, name);

/** Reverts `exact`: replaces the code points by their characters. */
const unnamed = (text) => text.replace(/⟨U\+(10[0-9A-F]{4}|[0-9A-F]{4,5})⟩/g, (_, digits) => String.fromCodePoint(parseInt(digits, 16)));

/** Returns text to edit without invisible characters, and the function that restores them; undefined if it is ambiguous. */
export function editable(text) {
  const named = exact(text);
  return unnamed(named) === text ? { text: named, back: unnamed } : undefined;
}

/** Returns text on one line. */
export const oneLine = (text) => visible(text).replace(/[\n\t]+/g, ' ');

/** Returns the beginning of a text. */
export const shorten = (text, max) => (text.length > max ? `${text.slice(0, max)}…` : text);

/** Formats a number of bytes. */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Formats milliseconds. */
export function span(ms) {
  if (ms < 1000) return `${ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 120) return `${Math.round(seconds * 10) / 10} s`;
  const minutes = seconds / 60;
  if (minutes < 120) return `${Math.round(minutes * 10) / 10} min`;
  const hours = minutes / 60;
  return hours < 48 ? `${Math.round(hours * 10) / 10} h` : `${Math.round(hours / 24)} days`;
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'long', timeStyle: 'long', hourCycle: 'h23' });

/** Formats a time, without its date if it is today. */
export function instant(iso) {
  const at = new Date(iso);
  const time = clock.format(at);
  return at.toDateString() === new Date().toDateString() ? time : `${day.format(at)}, ${time}`;
}

/** Formats a time with its date and UTC. */
export const instantWhole = (iso) => `${whole.format(new Date(iso))} (${iso})`;

/**
 * Returns JSON with one value per line. Numbers, the order of members and repeated members stay as they are. Ends
 * after about `most` characters. Undefined if the text is not JSON.
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

/** Returns bytes in hex and ASCII, sixteen per line. */
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

/** Returns the text of UTF-8 bytes, or undefined. */
export function textOf(bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Decodes base64. */
export const bytesOf = (base64) => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
