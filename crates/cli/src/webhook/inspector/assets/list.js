// The list: the newest deliveries, bounded, and «more» for older ones.

import { ask, by, el, say } from './dom.js';
import { instant, instantWhole, oneLine, span } from './text.js';

const PAGE = 100;
// Rows that are shown at most; older ones are found by filtering.
const MOST = 2000;
// Rows that wait while somebody reads further down, at most; the list is loaded anew after that.
const HELD_MOST = 500;

const shown = new Map();
let held = new Map();
let [room, done, asking, again] = [PAGE, true, null, 0];
let selected = '';
let changed = () => {};

/** The rows that are shown, newest first. */
export const rows = () => [...by('rows').children].map((item) => item.firstElementChild);

/** What the filter says, as parameters. */
function wanted() {
  const parameters = new URLSearchParams();
  for (const name of ['text', 'verdict', 'status']) {
    const value = by(`filter-${name}`).value;
    if (value) parameters.set(name, value);
  }
  return parameters;
}

const isFiltered = () => wanted().size > 0;

/** How far somebody has gone down: in the list where it stands beside the delivery, or on the page. */
const depth = () => by('list-scroll').scrollTop + (document.body.classList.contains('shows-detail') ? 0 : scrollY);

function toTop() {
  by('list-scroll').scrollTop = 0;
  if (scrollY) scrollTo(0, 0);
}

/** What stands for an answer: a status, or why there is none. */
export function answerBadge(answer) {
  if (!answer) return el('span', { class: 'badge' }, '…');
  return el('span', { class: `badge ${answer.tone}` }, answer.status === null ? 'dropped' : String(answer.status));
}

/** What is told of a row besides: which attempt, how long after the one before. */
export function marks(row) {
  const words = [];
  if (row.attempt > 1) words.push(`attempt ${row.attempt}`);
  if (row.gap_ms !== null && row.attempt > 1) words.push(`+${span(row.gap_ms)}`);
  if (row.duplicate) words.push('duplicate');
  if (row.synthetic) words.push('synthetic');
  if (row.number === null) words.push('not kept');
  return words;
}

function rowItem(row) {
  const what = row.event ?? `${row.method} ${row.request_target}`;
  const words = marks(row);
  return el('li', {}, el('button', {
    type: 'button', class: 'row', 'data-key': row.key, 'aria-current': row.key === selected ? 'true' : null,
    tabindex: '-1', onclick: () => open(row.key), onfocus: (event) => roam(event.currentTarget),
  },
  el('span', { class: 'row-top' },
    el('span', { class: 'row-number' }, row.number === null ? '–' : `#${row.number}`),
    el('span', { class: 'row-what' }, oneLine(what)),
    row.answer && el('span', { class: 'took' }, span(row.answer.took_ms)),
    answerBadge(row.answer)),
  el('span', { class: 'row-sub' },
    el('span', { class: `verdict ${row.verdict.tone}` }, row.verdict.short),
    el('time', { dateTime: row.at, title: instantWhole(row.at) }, instant(row.at)),
    ...words.map((word) => el('span', { class: 'mark' }, word))),
  // Whole where it can be: ids of one time begin alike.
  el('span', { class: 'row-id' }, row.submission_id ? oneLine(row.submission_id) : 'no submission id')));
}

/** Puts a row where it belongs, or in place of what is shown of it. */
function put(row) {
  const item = rowItem(row);
  const old = shown.get(row.key);
  if (old) {
    const focused = old.item.contains(document.activeElement);
    old.item.replaceWith(item);
    shown.set(row.key, { row, item });
    if (focused) item.firstElementChild.focus({ preventScroll: true });
    return;
  }
  let before = by('rows').firstElementChild;
  while (before && row.number !== null && number(before) > row.number) before = before.nextElementSibling;
  by('rows').insertBefore(item, before);
  shown.set(row.key, { row, item });
}

const number = (item) => shown.get(item.firstElementChild.dataset.key)?.row.number ?? Infinity;

function trim() {
  while (by('rows').children.length > room) {
    const last = by('rows').lastElementChild;
    shown.delete(last.firstElementChild.dataset.key);
    last.remove();
    done = false;
  }
}

/** What is around the rows: how many there are, whether there are more, what to do when there are none. */
function frame() {
  const count = by('rows').children.length;
  by('count').textContent = count === 0 ? '' : done ? `(${count})` : `(${count}, and older ones)`;
  by('more').hidden = done || room >= MOST;
  by('list-note').hidden = done || room < MOST;
  by('list-note').textContent = 'Older ones: filter, or formsvc webhook events list.';
  by('empty').hidden = count > 0;
  by('empty-what').textContent = isFiltered() ? 'Nothing fits the filter.' : 'Nothing has come yet.';
  by('empty-how').hidden = isFiltered();
  by('filter-clear').hidden = !isFiltered();
  const [waiting, newer] = [held.size, by('newer')];
  newer.hidden = waiting === 0;
  newer.textContent = waiting >= HELD_MOST ? 'Many newer: show them' : `${waiting} newer: show ${waiting === 1 ? 'it' : 'them'}`;
  const current = rows().find((row) => row.tabIndex === 0);
  if (!current && count) rows()[0].tabIndex = 0;
}

/** The one row that the Tab key reaches. */
function roam(row) {
  for (const other of rows()) other.tabIndex = other === row ? 0 : -1;
}

/** Loads the list, or what comes after it. Gives the number of the last event before it was read. */
async function load(older) {
  asking?.abort();
  const mine = new AbortController();
  asking = mine;
  const parameters = wanted();
  parameters.set('limit', String(older ? PAGE : Math.min(room, 200)));
  const last = by('rows').lastElementChild;
  if (older && last) parameters.set('before', String(number(last)));
  const began = performance.now();
  const answer = await (await ask(`api/list?${parameters}`, { signal: mine.signal })).json();
  // A list that takes long to read is read less often.
  again = Math.max(150, 4 * (performance.now() - began));
  if (!older) {
    shown.clear();
    held = new Map();
    by('rows').replaceChildren();
  }
  for (const row of answer.rows) {
    const item = rowItem(row);
    by('rows').append(item);
    shown.set(row.key, { row, item });
  }
  done = answer.done;
  frame();
  return answer.last;
}

/** Loads the newest. */
export async function reload() {
  return load(false);
}

async function more() {
  if (room >= MOST) return;
  room = Math.min(room + PAGE, MOST);
  const first = by('rows').children.length;
  await load(true);
  rows()[first]?.focus();
  say(`${by('rows').children.length - first} older ones`);
}

let timer = 0;

/** Loads the list once more, soon: what fits the filter is for the listener to say. */
function refilter(wait) {
  if (timer) return;
  timer = setTimeout(() => {
    timer = 0;
    room = PAGE;
    reload().catch(failed);
  }, wait);
}

function failed(error) {
  if (error.name === 'AbortError') return;
  by('list-note').hidden = false;
  by('list-note').textContent = error.message;
}

/** Deliveries that came, or were answered. */
export function arrived(news) {
  let fresh = false;
  for (const row of news) {
    if (shown.has(row.key)) put(row);
    else if (held.has(row.key)) held.set(row.key, row);
    else if (isFiltered()) fresh = true;
    else if (depth() > 40) {
      if (held.size < HELD_MOST) held.set(row.key, row);
    } else put(row);
  }
  trim();
  if (fresh) refilter(again);
  frame();
  changed(news);
}

/** Shows what waited. */
function showHeld() {
  toTop();
  if (held.size >= HELD_MOST) {
    reload().catch(failed);
    return;
  }
  const waiting = [...held.values()];
  held = new Map();
  for (const row of waiting) put(row);
  trim();
  frame();
}

/** Marks a row as the one that is shown. */
export function select(key) {
  selected = key;
  for (const row of rows()) {
    if (row.dataset.key === key) row.setAttribute('aria-current', 'true');
    else row.removeAttribute('aria-current');
  }
}

/** Shows the delivery of a row: its number is in the address, so that a reload and «back» find it. */
function open(key) {
  const row = shown.get(key)?.row;
  if (!row) return;
  if (row.number === null) {
    say('It was not kept: the store could not be written.');
    return;
  }
  if (location.hash === `#${key}`) dispatchEvent(new HashChangeEvent('hashchange'));
  else location.hash = key;
}

let opening = 0;

/** Goes to a row further down, or up; where there is room for both, it is shown too. */
export function go(by_) {
  const all = rows();
  if (!all.length) return;
  const focused = all.indexOf(document.activeElement);
  const at = focused >= 0 ? focused : all.findIndex((row) => row.dataset.key === selected);
  const next = all[Math.max(0, Math.min(all.length - 1, at < 0 ? 0 : at + by_))];
  next.focus();
  next.scrollIntoView({ block: 'nearest' });
  if (!matchMedia('(min-width: 60rem)').matches) return;
  clearTimeout(opening);
  opening = setTimeout(() => open(next.dataset.key), 120);
}

/** Goes to the newest row. */
export function goNewest() {
  showHeld();
  rows()[0]?.focus();
}

/** Sets the list up; `told` hears of every row that came. */
export function start(about, told) {
  changed = told;
  for (const { name, short } of about.verdicts) by('filter-verdict').append(el('option', { value: name }, short));
  by('filter').addEventListener('submit', (event) => event.preventDefault());
  let [typing, last] = [0, ''];
  const filter = () => {
    const now = String(wanted());
    if (now === last) return;
    last = now;
    clearTimeout(typing);
    typing = setTimeout(() => {
      room = PAGE;
      toTop();
      reload().then(() => say(`${by('rows').children.length} shown`)).catch(failed);
    }, 150);
  };
  // Not every browser tells of a choice by both.
  by('filter').addEventListener('input', filter);
  by('filter').addEventListener('change', filter);
  by('filter-clear').addEventListener('click', () => {
    by('filter').reset();
    filter();
    by('filter-text').focus();
  });
  by('more').addEventListener('click', () => more().catch(failed));
  by('newer').addEventListener('click', showHeld);
  const atTop = () => {
    if (held.size && depth() <= 40) showHeld();
  };
  by('list-scroll').addEventListener('scroll', atTop, { passive: true });
  addEventListener('scroll', atTop, { passive: true });
}
