// A body: pretty, raw, or as hex. Of a long one the beginning is shown, and more when it is asked for.

import { ask, el, problem } from './dom.js';
import { exact, hex, pretty, size, textOf, visible } from './text.js';

// Characters of text that are shown at once, and bytes as hex.
const TEXT_MOST = 64 * 1024;
const HEX_MOST = 4 * 1024;
// Bytes that are loaded without being asked to.
const LOADED_MOST = 16 << 20;

const NAMES = { pretty: 'Pretty', raw: 'Raw', hex: 'Hex' };

/** What shows bytes, in every way that fits them. */
export function bytesView(bytes, label) {
  const text = textOf(bytes);
  const isJson = text !== undefined && pretty(text, 0) !== undefined;
  const ways = [...(isJson ? ['pretty'] : []), ...(text === undefined ? [] : ['raw']), 'hex'];
  let way = ways[0];
  let steps = 1;
  const pre = el('pre', { class: 'code', tabindex: '0', 'aria-label': label, role: 'region' });
  const note = el('p', { class: 'quiet small-text' });
  const more = el('button', { type: 'button', class: 'small', onclick: () => { steps += 1; draw(); } }, 'Show more');
  const buttons = ways.map((name) => el('button', {
    type: 'button', class: 'tab', 'data-way': name, onclick: () => { way = name; steps = 1; draw(); },
  }, NAMES[name]));
  function draw() {
    const most = steps * (way === 'hex' ? HEX_MOST : TEXT_MOST);
    const whole = way === 'hex' ? bytes.length : way === 'raw' ? text.length : Infinity;
    let some;
    if (way === 'hex') some = hex(bytes.subarray(0, most));
    else if (way === 'raw') some = exact(text.slice(0, most));
    else some = pretty(text, most);
    const cut = way === 'pretty' ? some.length > most : whole > most;
    if (way === 'pretty') some = visible(some.slice(0, most));
    pre.textContent = some;
    pre.classList.toggle('hex', way === 'hex');
    note.textContent = cut ? 'This is the beginning of it.' : '';
    note.hidden = !cut;
    more.hidden = !cut;
    for (const button of buttons) button.setAttribute('aria-pressed', String(button.dataset.way === way));
  }
  draw();
  const view = el('div', { class: 'bytes' },
    el('div', { class: 'tabs', role: 'group', 'aria-label': `${label}: how it is shown` }, ...buttons),
    pre, note, more);
  view.next = () => {
    way = ways[(ways.indexOf(way) + 1) % ways.length];
    steps = 1;
    draw();
  };
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
  const section = el('section', { class: 'sheet', 'aria-labelledby': 'body-title' },
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
