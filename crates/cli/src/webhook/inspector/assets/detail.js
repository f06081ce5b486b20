// One delivery: what came, what it is worth, what was answered, and what can be done with it.

import { ask, by, el, problem, say } from './dom.js';
import { answerBadge, marks, select } from './list.js';
import { bodySection, bytesView } from './body.js';
import { actions } from './replay.js';
import { bytesOf, instant, instantWhole, oneLine, size, span } from './text.js';

let [about, shown, asking] = [null, null, null];

const fact = (name, ...what) => el('div', {}, el('dt', {}, name), el('dd', {}, ...what));

function facts({ row, from, content_type }) {
  const answer = row.answer && (row.answer.status === null
    ? 'the connection was dropped'
    : `${row.answer.status} ${row.answer.by}, after ${span(row.answer.took_ms)}`);
  const words = marks(row);
  return el('dl', { class: 'facts' },
    fact('Came', el('time', { dateTime: row.at }, instantWhole(row.at))),
    fact('From', row.synthetic ? 'made here of a submission that the API had (synthetic)' : from),
    fact('Request', el('code', {}, `${oneLine(row.method)} ${oneLine(row.request_target)}`)),
    fact('Answered', answer ?? 'not yet'),
    row.submission_id && fact('Submission', el('code', { class: 'all' }, oneLine(row.submission_id))),
    row.form_id && fact('Form', el('code', { class: 'all' }, oneLine(row.form_id))),
    content_type && fact('Content type', el('code', {}, oneLine(content_type))),
    words.length > 0 && fact('Besides', words.join(', ')));
}

/** What keeps a signature from being right, searched for when it is asked for. */
function why(number) {
  const place = el('div', { role: 'status' });
  const button = el('button', { type: 'button', id: 'do-why', class: 'small' }, 'Find out why');
  button.addEventListener('click', async () => {
    button.disabled = true;
    place.replaceChildren(el('p', { class: 'quiet' }, 'Searching…'));
    try {
      const { what, found, clues } = await (await ask(`api/explain?number=${number}`)).json();
      place.replaceChildren(el('p', {}, what),
        el('ul', { class: 'found' },
          ...found.map(({ means, detail, fix }) => el('li', {}, el('strong', {}, detail ? `${means}: ${oneLine(detail)}` : means), el('br'), `To do: ${fix}.`)),
          ...clues.map((clue) => el('li', {}, clue))));
      button.hidden = true;
    } catch (error) {
      place.replaceChildren(problem(error));
      button.disabled = false;
    }
  });
  return el('div', { class: 'why' }, button, place);
}

function verdict({ row, advice }) {
  const { found, rule, next, can_search, command } = advice;
  return el('section', { class: `callout ${row.verdict.tone}`, 'aria-labelledby': 'verdict-title' },
    el('h3', { id: 'verdict-title' }, row.verdict.short),
    el('p', {}, found),
    el('p', { class: 'quiet' }, rule),
    next && el('p', {}, next),
    can_search && why(row.number),
    command && el('p', { class: 'quiet small-text' }, 'On a terminal: ', el('code', { class: 'all' }, command)));
}

/** Headers as they came, by name and value. */
export function headersTable(headers, label) {
  if (!headers.length) return el('p', { class: 'quiet' }, 'There are none.');
  return el('table', { class: 'headers', 'aria-label': label }, el('tbody', {}, ...headers.map(({ name, value, masked }) =>
    el('tr', {}, el('th', { scope: 'row' }, oneLine(name)),
      el('td', {}, el('code', {}, oneLine(value)), masked && el('span', { class: 'mark' }, 'masked'))))));
}

/** What something answered: status, time, headers and body. */
export function answerView({ status, tone, took_ms, headers, body, masked, truncated }, label) {
  const bytes = bytesOf(body);
  return el('div', { class: 'answer' },
    el('p', { class: 'answer-line' }, answerBadge({ status, tone }), el('span', {}, `after ${span(took_ms)}`),
      el('span', { class: 'quiet' }, bytes.length ? `${size(bytes.length)}${truncated ? ' and more' : ''}` : 'no body')),
    el('details', {}, el('summary', {}, `${headers.length} headers`), headersTable(headers, `${label}: headers`)),
    bytes.length > 0 && bytesView(bytes, `${label}: body`),
    masked && el('p', { class: 'quiet small-text' }, 'What is secret in it is masked; a listener with --reveal shows it.'));
}

/** Why nothing came back. */
export const silence = ({ why, timed_out, took_ms }) => el('p', { class: 'answer-line' },
  el('span', { class: 'badge bad' }, timed_out ? 'timed out' : 'no answer'),
  el('span', {}, `${oneLine(why)} (after ${span(took_ms)})`));

function forwards(list, row) {
  const nothing = row.answer ? 'It was not forwarded.' : 'It is being answered.';
  return el('section', { class: 'sheet', 'aria-labelledby': 'forwards-title' },
    el('h3', { id: 'forwards-title' }, 'Forwarded'),
    list.length === 0 && el('p', { class: 'quiet' }, nothing),
    ...list.map((forward) => el('div', { class: 'forward' },
      el('p', { class: 'answer-line' }, el('code', {}, oneLine(forward.url)),
        list.length > 1 && forward.decided && el('span', { class: 'mark' }, 'this answered the sender')),
      forward.answer ? answerView(forward.answer, 'Answer') : silence(forward.silence))));
}

function attempts({ attempts, attempts_cut, row }) {
  if (attempts.length < 2) return null;
  const item = (attempt) => el('li', { class: attempt.key === row.key ? 'here' : null },
    attempt.pause && el('p', { class: `pause ${attempt.pause.fits ? 'good' : 'bad'}` },
      `${attempt.pause.fits ? '✓' : '✗'} waited ${span(attempt.pause.waited_ms)}; the schedule has ${attempt.pause.expected}`),
    !attempt.pause && attempt.attempt > 1 && el('p', { class: 'pause quiet' },
      `no retry: came again${attempt.gap_ms === null ? '' : ` after ${span(attempt.gap_ms)}`}`),
    el('p', { class: 'answer-line' },
      el('a', { href: `#${attempt.number}`, 'aria-current': attempt.key === row.key ? 'true' : null }, `#${attempt.number}`),
      el('time', { dateTime: attempt.at, title: instantWhole(attempt.at) }, instant(attempt.at)),
      answerBadge(attempt.answer),
      el('span', { class: `verdict ${attempt.verdict.tone}` }, attempt.verdict.short)));
  return el('section', { class: 'sheet', 'aria-labelledby': 'attempts-title' },
    el('h3', { id: 'attempts-title' }, 'Attempts of this submission'),
    el('p', { class: 'quiet small-text' }, about.schedule),
    attempts_cut && el('p', { class: 'quiet' }, 'Only the newest are shown.'),
    el('ol', { class: 'attempts' }, ...attempts.map(item)));
}

const back = el('p', { class: 'back' }, el('a', { href: '#' }, '← Deliveries'));

const head = ({ row }) => el('div', { class: 'head' },
  el('h2', { id: 'detail-title', tabindex: '-1' }, `#${row.number} ${oneLine(row.event ?? `${row.method} ${row.request_target}`)}`),
  answerBadge(row.answer));

const headers = (delivery) => el('section', { class: 'sheet', 'aria-labelledby': 'headers-title' },
  el('h3', { id: 'headers-title' }, 'Headers'), headersTable(delivery.headers, 'Headers'));

// The parts of a delivery, and what each is made from. One that is made from nothing stays as it is while the
// delivery is shown: what was typed, what came of replays, how the body is shown.
const PARTS = [
  [head, ({ row }) => row],
  [(delivery) => actions(delivery, about), () => null],
  [verdict, () => null],
  [(delivery) => el('section', { class: 'sheet', 'aria-label': 'Facts' }, facts(delivery)), ({ row }) => row],
  [attempts, (delivery) => delivery.attempts],
  [bodySection, () => null],
  [(delivery) => forwards(delivery.forwards, delivery.row), (delivery) => [delivery.forwards, delivery.row.answer]],
  [headers, (delivery) => delivery.headers],
];

/** Puts elements in a place, in their order. One that is there already is not touched, so that whoever is about
 * to press something in it presses that. */
function place(elements, parent) {
  for (const child of [...parent.children]) if (!elements.includes(child)) child.remove();
  let at = parent.firstElementChild;
  for (const element of elements) {
    if (element === at) at = at.nextElementSibling;
    else parent.insertBefore(element, at);
  }
}

/** Draws a delivery; of the one that is shown already, what has changed. */
function draw(delivery) {
  const same = shown?.delivery.row.key === delivery.row.key;
  const parts = PARTS.map(([make, from], at) => {
    const made = JSON.stringify(from(delivery));
    return same && shown.parts[at].made === made ? shown.parts[at] : { made, element: make(delivery) };
  });
  place([back, ...parts.map((part) => part.element).filter(Boolean)], by('detail-body'));
  shown = { delivery, parts };
}

const number = () => (/^#\d{1,19}$/.test(location.hash) ? location.hash.slice(1) : '');

/** Shows what the address names; `fresh` when somebody went there, rather than that something changed. */
async function show(fresh) {
  const wanted = number();
  select(wanted);
  document.body.classList.toggle('shows-detail', wanted !== '');
  by('detail-empty').hidden = wanted !== '';
  by('detail-body').hidden = wanted === '';
  asking?.abort();
  if (!wanted) {
    shown = null;
    by('detail-body').replaceChildren();
    return;
  }
  asking = new AbortController();
  try {
    const delivery = await (await ask(`api/capture?number=${wanted}`, { signal: asking.signal })).json();
    draw(delivery);
  } catch (error) {
    if (error.name === 'AbortError') return;
    shown = null;
    by('detail-body').replaceChildren(back, problem(error));
  }
  if (!fresh) return;
  by('detail').scrollTop = 0;
  if (matchMedia('(max-width: 59.99rem)').matches) {
    scrollTo(0, 0);
    by('detail-title')?.focus({ preventScroll: true });
  }
  say(`Delivery ${wanted}`);
}

let soon = 0;

/** Deliveries that came or were answered: what is shown may have an answer, or one more attempt. */
export function arrived(news) {
  if (!shown) return;
  const { row } = shown.delivery;
  const concerns = (other) => (other.key === row.key && !row.answer)
    || (other.key !== row.key && row.submission_id !== null && other.submission_id === row.submission_id);
  if (!news.some(concerns)) return;
  refresh(300);
}

/** Draws what is shown once more, when nobody is in the midst of something. */
function refresh(wait) {
  clearTimeout(soon);
  soon = setTimeout(() => {
    if (by('replay')?.contains(document.activeElement)) refresh(1000);
    else show(false);
  }, wait);
}

/** The next way to show the body. */
export const turnBody = () => by('body')?.next?.();

export function start(facts) {
  about = facts;
  addEventListener('hashchange', () => show(true));
  if (number()) show(true);
}
