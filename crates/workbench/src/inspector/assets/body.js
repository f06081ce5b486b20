// A body as pretty JSON, as text or as hex. Long bodies are shown in parts.

import { ask, el, problem } from './dom.js';
import { bytesOf, exact, hex, pretty, size, textOf, visible } from './text.js';

// Characters of text, and bytes in hex, that are added at once.
const TEXT_STEP = 64 * 1024;
const HEX_STEP = 4 * 1024;

const NAMES = { pretty: 'Pretty', raw: 'Raw', hex: 'Hex' };

/** Returns the end of a part: after a line feed, or inside a line that is too long. */
function endOfPart(text, from, step) {
  if (text.length <= from + step) return text.length;
  const line = text.lastIndexOf('\n', from + step - 1) + 1;
  return line > from + step / 2 ? line : from + step;
}

/** Returns an element that shows bytes, with a button for each format. */
export function bytesView(bytes, label) {
  const text = textOf(bytes);
  const isJson = text !== undefined && pretty(text, 0) !== undefined;
  const formats = [...(isJson ? ['pretty'] : []), ...(text === undefined ? [] : ['raw']), 'hex'];
  let [format, end] = [formats[0], 0];
  const pre = el('pre', { class: 'code', tabindex: '0', 'aria-label': label, role: 'region' });
  const note = el('p', { class: 'quiet small-text' }, 'Only the beginning is shown.');
  const more = el('button', { type: 'button', class: 'small', onclick: () => add() }, 'Show more');
  const buttons = formats.map((name) => el('button', {
    type: 'button', class: 'tab', 'data-format': name, onclick: () => turn(name),
  }, NAMES[name]));
  // Each part is an element: browsers need minutes to lay out a very long text.
  function add() {
    const step = format === 'hex' ? HEX_STEP : TEXT_STEP;
    const whole = format === 'pretty' ? pretty(text, end + step) : text;
    const to = format === 'hex' ? Math.min(bytes.length, end + step) : endOfPart(whole, end, step);
    const part = format === 'hex' ? hex(bytes.subarray(end, to))
      : format === 'raw' ? exact(whole.slice(end, to)) : visible(whole.slice(end, to));
    pre.append(el('span', { class: 'piece' }, part));
    end = to;
    const isCut = end < (format === 'hex' ? bytes.length : whole.length);
    note.hidden = !isCut;
    more.hidden = !isCut;
  }
  function turn(name) {
    [format, end] = [name, 0];
    pre.replaceChildren();
    pre.classList.toggle('hex', format === 'hex');
    for (const button of buttons) button.setAttribute('aria-pressed', String(button.dataset.format === format));
    add();
  }
  turn(format);
  const view = el('div', { class: 'bytes' },
    el('div', { class: 'tabs', role: 'group', 'aria-label': `${label}: format` }, ...buttons),
    pre, note, more);
  view.next = () => turn(formats[(formats.indexOf(format) + 1) % formats.length]);
  return view;
}

/** Returns the body of a delivery, which the record of a long one does not contain. */
export async function load({ capture, body_b64: body, body_size: length }) {
  if (body || !length) return bytesOf(body);
  return new Uint8Array(await (await ask(`api/body?number=${capture}`)).arrayBuffer());
}

/** Returns the section with the body of a delivery. */
export function bodySection({ delivery }) {
  const { capture, body_size: length } = delivery;
  const link = el('a', { href: `api/body?number=${capture}`, download: `delivery-${capture}.bin` }, 'Download');
  const content = el('div', {}, el('p', { class: 'quiet' }, length ? 'Loading…' : 'The body is empty.'));
  const section = el('section', { class: 'sheet', id: 'body', 'aria-labelledby': 'body-title' },
    el('div', { class: 'head' }, el('h3', { id: 'body-title' }, 'Body'),
      el('span', { class: 'quiet' }, size(length)), length > 0 && link),
    content,
    el('p', { class: 'quiet small-text digest' }, 'SHA-256 ', el('code', {}, delivery.body_sha256)));
  const show = async () => {
    try {
      const view = bytesView(await load(delivery), 'Body');
      section.next = view.next;
      content.replaceChildren(view);
    } catch (error) {
      content.replaceChildren(problem(error));
    }
  };
  if (length && !delivery.body_b64) {
    content.replaceChildren(el('button', { type: 'button', onclick: show }, `Load ${size(length)}`));
  } else if (length) {
    show();
  }
  return section;
}
