// The list of deliveries, newest first and bounded.

import { announce, ask, by, el, withCode } from './dom.js';
import { instant, instantWhole, oneLine, shorten, span } from './text.js';

const PAGE = 100;
// Most rows that are shown. Older deliveries are found by filters.
const ROWS_MAX = 2000;
// Most new deliveries that wait while the user has scrolled down. With more, the list is loaded again.
const WAITING_MAX = 500;
// Longest text of a stranger in a row, in characters.
const TEXT_MAX = 160;

// Rows by key: `{ delivery, item }`.
const shown = new Map();
let waiting = new Map();
let [limit, hasOlder, request, refilterPause] = [PAGE, false, null, 0];
let selected = '';
let labels = new Map();
let changed = () => {};

/** Returns the key of a delivery. A delivery that is not stored has no number, so its key is its time. */
export const keyOf = (delivery) => String(delivery.capture ?? `at ${delivery.at}`);

/** Returns the rows that are shown, newest first. */
export const rows = () => [...by('rows').children].map((item) => item.firstElementChild);

/** Returns the parameters of the filter. */
function filterParameters() {
  const terms = ['verdict', 'status'].filter((name) => by(`filter-${name}`).value);
  const parameters = new URLSearchParams();
  if (terms.length) parameters.set('filter', terms.map((name) => `${name}=${by(`filter-${name}`).value}`).join(' && '));
  if (by('filter-text').value) parameters.set('text', by('filter-text').value);
  return parameters;
}

const isFiltered = () => filterParameters().size > 0;

/** Returns how far the list is scrolled: in its pane, or on the page. */
const depth = () => by('list-scroll').scrollTop + (document.body.classList.contains('shows-detail') ? 0 : scrollY);

function toTop() {
  by('list-scroll').scrollTop = 0;
  if (scrollY) scrollTo(0, 0);
}

/** Returns true if the listener has not responded yet, or was stopped before it did. */
export const isInFlight = (delivery) => delivery.answered_by === null;

/** Returns the class of a status: 2xx is good, 3xx and 4xx are open, all else is bad. */
const toneOf = (status) => (status >= 200 && status < 300 ? 'good' : status >= 300 && status < 500 ? 'open' : 'bad');

/** Returns the badge of a status; null means that the connection was closed. */
export const statusBadge = (status) => el('span', { class: `badge ${toneOf(status)}` }, status === null ? 'closed' : String(status));

/** Returns the badge of the response to a delivery. */
export const responseBadge = (delivery) => (isInFlight(delivery) ? el('span', { class: 'badge' }, '…') : statusBadge(delivery.status));

/** Returns the label of a verdict, with its class. */
export function verdictLabel({ verdict }) {
  const { label, is_refusal: isRefusal } = labels.get(verdict) ?? { label: verdict, is_refusal: true };
  const [mark, tone] = isRefusal ? ['✗', 'bad'] : verdict === 'valid' ? ['✓', 'good'] : ['?', 'open'];
  return { text: `${mark} ${label}`, tone };
}

/** Returns short facts about the attempt and the origin. */
export function marks(delivery) {
  const texts = [];
  if (delivery.attempt > 1) {
    const name = delivery.duplicate ? 'duplicate' : `attempt ${delivery.attempt}`;
    texts.push(delivery.gap_ms === null ? name : `${name} +${span(delivery.gap_ms)}`);
  }
  if (delivery.synthetic) texts.push('synthetic');
  if (delivery.capture === null) texts.push('not stored');
  return texts;
}

/** Returns the event, or the request of a delivery without one. */
export const nameOf = ({ event, method, request_target: target }) => shorten(oneLine(event ?? `${method} ${target}`), TEXT_MAX);

function rowItem(delivery) {
  const [key, verdict] = [keyOf(delivery), verdictLabel(delivery)];
  return el('li', {}, el('button', {
    type: 'button', class: 'row', 'data-key': key, 'aria-current': key === selected ? 'true' : null,
    tabindex: '-1', onclick: () => open(key), onfocus: (event) => makeTabStop(event.currentTarget),
  },
  el('span', { class: 'row-top' },
    el('span', { class: 'row-number' }, delivery.capture === null ? '–' : `#${delivery.capture}`),
    el('span', { class: 'row-what' }, nameOf(delivery)),
    !isInFlight(delivery) && el('span', { class: 'took' }, span(delivery.took_ms)),
    responseBadge(delivery)),
  el('span', { class: 'row-sub' },
    el('span', { class: `verdict ${verdict.tone}` }, verdict.text),
    el('time', { dateTime: delivery.at, title: instantWhole(delivery.at) }, instant(delivery.at)),
    ...marks(delivery).map((text) => el('span', { class: 'mark' }, text))),
  // The whole id, because ids of the same time begin with the same digits.
  el('span', { class: 'row-id' }, delivery.submission_id ? oneLine(delivery.submission_id) : 'no submission ID')));
}

/** Inserts a row by its number, or replaces the row of the same delivery. */
function put(delivery) {
  const [item, key] = [rowItem(delivery), keyOf(delivery)];
  const old = shown.get(key);
  shown.set(key, { delivery, item });
  if (old) {
    const hasFocus = old.item.contains(document.activeElement);
    old.item.replaceWith(item);
    if (hasFocus) item.firstElementChild.focus({ preventScroll: true });
    return;
  }
  let before = by('rows').firstElementChild;
  while (before && delivery.capture !== null && numberOf(before) > delivery.capture) before = before.nextElementSibling;
  by('rows').insertBefore(item, before);
}

const numberOf = (item) => shown.get(item.firstElementChild.dataset.key)?.delivery.capture ?? Infinity;

function trim() {
  while (by('rows').children.length > limit) {
    const last = by('rows').lastElementChild;
    shown.delete(last.firstElementChild.dataset.key);
    last.remove();
    hasOlder = true;
  }
}

/** Updates the count, the buttons and the text of an empty list. */
function updateFrame() {
  const count = by('rows').children.length;
  by('count').textContent = count === 0 ? '' : hasOlder ? `(newest ${count})` : `(${count})`;
  by('more').hidden = !hasOlder || limit >= ROWS_MAX;
  by('list-note').hidden = !hasOlder || limit < ROWS_MAX;
  by('list-note').replaceChildren(...withCode('To see older deliveries, use the filter or `formsvc webhook events list`.'));
  by('empty').hidden = count > 0;
  by('empty-title').textContent = isFiltered() ? 'No delivery matches the filter.' : 'No deliveries yet.';
  by('empty-help').hidden = isFiltered();
  by('filter-clear').hidden = !isFiltered();
  by('newer').hidden = waiting.size === 0;
  by('newer').textContent = waiting.size >= WAITING_MAX ? 'Show new deliveries' : `Show ${waiting.size} new`;
  const current = rows().find((row) => row.tabIndex === 0);
  if (!current && count) rows()[0].tabIndex = 0;
}

/** Makes a row the only one that the Tab key reaches. */
function makeTabStop(row) {
  for (const other of rows()) other.tabIndex = other === row ? 0 : -1;
}

/** Loads the newest deliveries, or those older than the last row. */
async function load(isOlder) {
  request?.abort();
  const current = new AbortController();
  request = current;
  const parameters = filterParameters();
  parameters.set('limit', String(isOlder ? PAGE : Math.min(limit, 200)));
  const last = by('rows').lastElementChild;
  if (isOlder && last) parameters.set('before', String(numberOf(last)));
  const started = performance.now();
  const list = await (await ask(`api/list?${parameters}`, { signal: current.signal })).json();
  // A slow filter is repeated less often.
  refilterPause = Math.max(150, 4 * (performance.now() - started));
  const focused = isOlder ? undefined : document.activeElement?.closest?.('.row')?.dataset.key;
  if (!isOlder) {
    shown.clear();
    waiting = new Map();
    by('rows').replaceChildren();
  }
  for (const delivery of list.deliveries) {
    const item = rowItem(delivery);
    by('rows').append(item);
    shown.set(keyOf(delivery), { delivery, item });
  }
  hasOlder = list.has_older;
  if (focused) shown.get(focused)?.item.firstElementChild.focus({ preventScroll: true });
  updateFrame();
}

/** Loads the newest deliveries. */
export const reload = () => load(false).catch(showError);

async function loadOlder() {
  if (limit >= ROWS_MAX) return;
  limit = Math.min(limit + PAGE, ROWS_MAX);
  const first = by('rows').children.length;
  await load(true);
  rows()[first]?.focus();
  announce(`${by('rows').children.length - first} older deliveries`);
}

let timer = 0;

/** Loads the filtered list again soon: the server decides which deliveries match. */
function refilter(pause) {
  if (timer) return;
  timer = setTimeout(() => {
    timer = 0;
    limit = PAGE;
    reload();
  }, pause);
}

function showError(error) {
  if (error.name === 'AbortError') return;
  by('list-note').hidden = false;
  by('list-note').replaceChildren(...withCode(error.message));
}

/** Shows deliveries that are new or have changed. */
export function arrived(deliveries) {
  let needsFilter = false;
  for (const delivery of deliveries) {
    const key = keyOf(delivery);
    if (shown.has(key)) put(delivery);
    else if (waiting.has(key)) waiting.set(key, delivery);
    else if (isFiltered()) needsFilter = true;
    else if (depth() > 40) {
      if (waiting.size < WAITING_MAX) waiting.set(key, delivery);
    } else put(delivery);
  }
  trim();
  if (needsFilter) refilter(refilterPause);
  updateFrame();
  changed(deliveries);
}

/** Shows the deliveries that wait. */
function showWaiting() {
  toTop();
  if (waiting.size >= WAITING_MAX) {
    reload();
    return;
  }
  const deliveries = [...waiting.values()];
  waiting = new Map();
  for (const delivery of deliveries) put(delivery);
  trim();
  updateFrame();
}

/** Marks the row of the delivery that is shown. */
export function select(key) {
  selected = key;
  for (const row of rows()) {
    if (row.dataset.key === key) row.setAttribute('aria-current', 'true');
    else row.removeAttribute('aria-current');
  }
}

/** Shows a delivery. Its number is in the URL, so that reload and back work. */
function open(key) {
  const delivery = shown.get(key)?.delivery;
  if (!delivery) return;
  if (delivery.capture === null) {
    announce('This delivery was not stored, because the store failed.');
    return;
  }
  if (location.hash === `#${key}`) dispatchEvent(new HashChangeEvent('hashchange'));
  else location.hash = key;
}

let opening = 0;

/** Moves the focus by rows, and opens the delivery if both panes are visible. */
export function go(offset) {
  const all = rows();
  if (!all.length) return;
  const focused = all.indexOf(document.activeElement);
  const at = focused >= 0 ? focused : all.findIndex((row) => row.dataset.key === selected);
  const next = all[Math.max(0, Math.min(all.length - 1, at < 0 ? 0 : at + offset))];
  next.focus();
  next.scrollIntoView({ block: 'nearest' });
  if (!matchMedia('(min-width: 60rem)').matches) return;
  clearTimeout(opening);
  opening = setTimeout(() => open(next.dataset.key), 120);
}

/** Moves the focus to the newest row. */
export function goNewest() {
  showWaiting();
  rows()[0]?.focus();
}

/** Sets up the list. `onChange` receives each delivery that is new or has changed. */
export function start(about, onChange) {
  changed = onChange;
  labels = new Map(about.verdicts.map((row) => [row.name, row]));
  by('filter-verdict').append(
    ...about.verdicts.map(({ name }) => el('option', { value: name }, verdictLabel({ verdict: name }).text)),
    el('option', { value: 'invalid' }, 'any refused'));
  by('filter').addEventListener('submit', (event) => event.preventDefault());
  let [typing, last] = [0, ''];
  const filter = () => {
    const now = String(filterParameters());
    if (now === last) return;
    last = now;
    clearTimeout(typing);
    typing = setTimeout(() => {
      limit = PAGE;
      toTop();
      reload().then(() => announce(`${by('rows').children.length} deliveries`));
    }, 150);
  };
  // For a choice in a list, some browsers send only one of the two events.
  by('filter').addEventListener('input', filter);
  by('filter').addEventListener('change', filter);
  by('filter-clear').addEventListener('click', () => {
    by('filter').reset();
    filter();
    by('filter-text').focus();
  });
  by('more').addEventListener('click', () => loadOlder().catch(showError));
  by('newer').addEventListener('click', showWaiting);
  const onScroll = () => {
    if (waiting.size && depth() <= 40) showWaiting();
  };
  by('list-scroll').addEventListener('scroll', onScroll, { passive: true });
  addEventListener('scroll', onScroll, { passive: true });
}
