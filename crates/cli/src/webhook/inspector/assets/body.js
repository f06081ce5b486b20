// A body: pretty, raw, or as hex. Of a long one the beginning is shown, and more when it is asked for.

import { ask, el, problem } from './dom.js';
import { exact, hex, pretty, size, textOf, visible } from './text.js';

// Characters of text that are shown at once, and bytes as hex.
const TEXT_MOST = 64 * 1024;
const HEX_MOST = 4 * 1024;
// Bytes that are loaded without being asked to.
const LOADED_MOST = 16 << 20;

const NAMES = { pretty: 'Pretty', raw: 'Raw', hex: 'Hex' };

/** Where a piece of a text ends: after a line, or in the middle of one that is too long. */
function end(text, from, most) {
  if (text.length <= from + most) return text.length;
  const line = text.lastIndexOf('\n', from + most - 1) + 1;
  return line > from + most / 2 ? line : from + most;
}

/** What shows bytes, in every way that fits them. */
export function bytesView(bytes, label) {
  const text = textOf(bytes);
  const isJson = text !== undefined && pretty(text, 0) !== undefined;
  const ways = [...(isJson ? ['pretty'] : []), ...(text === undefined ? [] : ['raw']), 'hex'];
  let [way, shown] = [ways[0], 0];
  const pre = el('pre', { class: 'code', tabindex: '0', 'aria-label': label, role: 'region' });
  const note = el('p', { class: 'quiet small-text' }, 'This is the beginning of it.');
  const more = el('button', { type: 'button', class: 'small', onclick: () => add() }, 'Show more');
  const buttons = ways.map((name) => el('button', {
    type: 'button', class: 'tab', 'data-way': name, onclick: () => turn(name),
  }, NAMES[name]));
  // A piece is laid out by itself: all of a long text at once takes a browser minutes.
  function add() {
    const most = way === 'hex' ? HEX_MOST : TEXT_MOST;
    const whole = way === 'pretty' ? pretty(text, shown + most) : text;
    const to = way === 'hex' ? Math.min(bytes.length, shown + most) : end(whole, shown, most);
    const piece = way === 'hex' ? hex(bytes.subarray(shown, to))
      : way === 'raw' ? exact(whole.slice(shown, to)) : visible(whole.slice(shown, to));
    pre.append(el('span', { class: 'piece' }, piece));
    shown = to;
    const cut = shown < (way === 'hex' ? bytes.length : whole.length);
    note.hidden = !cut;
    more.hidden = !cut;
  }
  function turn(name) {
    [way, shown] = [name, 0];
    pre.replaceChildren();
    pre.classList.toggle('hex', way === 'hex');
    for (const button of buttons) button.setAttribute('aria-pressed', String(button.dataset.way === way));
    add();
  }
  turn(way);
  const view = el('div', { class: 'bytes' },
    el('div', { class: 'tabs', role: 'group', 'aria-label': `${label}: how it is shown` }, ...buttons),
    pre, note, more);
  view.next = () => turn(ways[(ways.indexOf(way) + 1) % ways.length]);
  return view;
}

/** The body of a delivery, loaded. */
export async function load(number) {
  return new Uint8Array(await (await ask(`api/body?number=${number}`)).arrayBuffer());
}

/** The part of the page that shows the body of a delivery. */
export function bodySection(delivery) {
  const { number, length } = delivery.row;
  const link = el('a', { href: `api/body?number=${number}`, download: `delivery-${number}.bin` }, 'Download');
  const place = el('div', {}, el('p', { class: 'quiet' }, length ? 'Loading…' : 'The body is empty.'));
  const section = el('section', { class: 'sheet', id: 'body', 'aria-labelledby': 'body-title' },
    el('div', { class: 'head' }, el('h3', { id: 'body-title' }, 'Body'),
      el('span', { class: 'quiet' }, size(length)), length > 0 && link),
    place,
    el('p', { class: 'quiet small-text digest' }, 'SHA-256 ', el('code', {}, delivery.sha256)));
  const show = async () => {
    try {
      const view = bytesView(await load(number), 'Body');
      section.next = view.next;
      place.replaceChildren(view);
    } catch (error) {
      place.replaceChildren(problem(error));
    }
  };
  if (length > LOADED_MOST) {
    place.replaceChildren(el('button', { type: 'button', onclick: show }, `Load ${size(length)}`));
  } else if (length) {
    show();
  }
  return section;
}
