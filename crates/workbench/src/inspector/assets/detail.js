// One delivery: its request, signature, response, attempts and forwards.

import { announce, ask, by, el, problem, sentence, withCode } from './dom.js';
import { isInFlight, keyOf, marks, nameOf, responseBadge, select, statusBadge, verdictLabel } from './list.js';
import { bodySection, bytesView } from './body.js';
import { actions } from './replay.js';
import { bytesOf, instant, instantWhole, oneLine, size, span } from './text.js';

let [about, shown, request] = [null, null, null];

const BY = { listener: 'from the listener', fault: 'an injected fault', target: 'from the target', no_route: 'no route matched' };

const fact = (name, ...content) => el('div', {}, el('dt', {}, name), el('dd', {}, ...content));

function responseText(delivery) {
  if (isInFlight(delivery)) return 'in flight';
  const status = delivery.status === null ? 'connection closed' : `${delivery.status}`;
  return `${status}, ${BY[delivery.answered_by]}, after ${span(delivery.took_ms)}`;
}

/** Describes the attempt: its number, the gap before it, and whether it is a duplicate. */
function attemptText({ attempt, gap_ms: gap, duplicate }) {
  return `${attempt}${gap === null ? '' : `, ${span(gap)} after the previous one`}`
    + `${duplicate ? '; duplicate, because an earlier one was accepted' : ''}`;
}

function facts({ delivery }) {
  const contentType = delivery.headers['content-type']?.join(', ');
  return el('dl', { class: 'facts' },
    fact('Received', el('time', { dateTime: delivery.at }, instantWhole(delivery.at))),
    fact('From', delivery.peer ?? 'built from a submission that the API returned (synthetic)'),
    fact('Request', el('code', {}, `${oneLine(delivery.method)} ${oneLine(delivery.request_target)}`)),
    fact('Response', responseText(delivery)),
    delivery.submission_id && fact('Submission', el('code', { class: 'all' }, oneLine(delivery.submission_id))),
    delivery.form_id && fact('Form', el('code', { class: 'all' }, oneLine(delivery.form_id))),
    contentType && fact('Content type', el('code', {}, oneLine(contentType))),
    fact('Attempt', attemptText(delivery)));
}

/** Returns a button that explains the signature: the search takes a while. */
function explanation(number) {
  const result = el('div', { role: 'status' });
  const button = el('button', { type: 'button', id: 'do-explain', class: 'small' }, 'Explain the signature');
  button.addEventListener('click', async () => {
    button.disabled = true;
    result.replaceChildren(el('p', { class: 'quiet' }, 'Searching…'));
    try {
      const { summary, found, advice } = await (await ask(`api/explain?number=${number}`)).json();
      const cause = ({ means, detail }) => el('li', {}, el('strong', {}, sentence(oneLine(detail ? `${means} (${detail})` : means))));
      result.replaceChildren(el('p', {}, ...withCode(summary)),
        el('ul', { class: 'found' }, ...found.map(cause), ...advice.map((text) => el('li', {}, ...withCode(sentence(oneLine(text)))))));
      button.hidden = true;
    } catch (error) {
      result.replaceChildren(problem(error));
      button.disabled = false;
    }
  });
  return el('div', { class: 'explain' }, button, result);
}

function signature({ delivery, signature: { title, description, rule, advice, is_explainable: isExplainable } }) {
  return el('section', { class: `callout ${verdictLabel(delivery).tone}`, 'aria-labelledby': 'verdict-title' },
    el('h3', { id: 'verdict-title' }, title),
    el('p', {}, ...withCode(description)),
    el('p', { class: 'quiet' }, rule),
    advice && el('p', {}, ...withCode(advice)),
    isExplainable && explanation(delivery.capture));
}

/** Returns a table of headers: lists of values by name. */
function headersTable(headers, label) {
  const rows = Object.entries(headers).flatMap(([name, values]) => values.map((value) => [name, value]));
  if (!rows.length) return el('p', { class: 'quiet' }, 'No headers.');
  return el('table', { class: 'headers', 'aria-label': label }, el('tbody', {}, ...rows.map(([name, value]) =>
    el('tr', {}, el('th', { scope: 'row' }, oneLine(name)), el('td', {}, el('code', {}, oneLine(value)))))));
}

const maskNote = (headers) => !about.reveal && Object.values(headers).flat().some((value) => value.includes('…'))
  && el('p', { class: 'quiet small-text' }, 'Secrets are masked. To see them, start with ', el('code', { class: 'unbroken' }, '--reveal'), '.');

/** Returns the result of a request to a target. */
export function resultView({ status, error, took_ms: took, headers, body_b64: body, truncated }, label) {
  if (error !== null) {
    return el('p', { class: 'answer-line' }, el('span', { class: 'badge bad' }, 'no response'),
      el('span', {}, ...withCode(sentence(oneLine(error))), ` (${span(took)})`));
  }
  const bytes = bytesOf(body);
  const count = Object.values(headers).flat().length;
  return el('div', { class: 'answer' },
    el('p', { class: 'answer-line' }, statusBadge(status), el('span', {}, `after ${span(took)}`),
      el('span', { class: 'quiet' }, bytes.length ? `${size(bytes.length)}${truncated ? ' (truncated)' : ''}` : 'no body')),
    el('details', {}, el('summary', {}, `${count} ${count === 1 ? 'header' : 'headers'}`),
      headersTable(headers, `${label}: headers`), maskNote(headers)),
    bytes.length > 0 && bytesView(bytes, `${label}: body`));
}

function forwards({ delivery, relayed_forward: relayed }) {
  const list = delivery.forwards;
  return el('section', { class: 'sheet', 'aria-labelledby': 'forwards-title' },
    el('h3', { id: 'forwards-title' }, 'Forwards'),
    list.length === 0 && el('p', { class: 'quiet' }, isInFlight(delivery) ? 'In flight.' : 'Not forwarded.'),
    ...list.map((forward, index) => el('div', { class: 'forward' },
      el('p', { class: 'answer-line' }, el('code', {}, oneLine(forward.url)),
        list.length > 1 && index === relayed && el('span', { class: 'mark' }, 'relayed to the sender')),
      resultView(forward, 'Response'))));
}

/** Splits attempts by the run of the listener, which counts them from 1. It does not count refused ones. */
export function runsOf(list) {
  let [runs, last] = [[], 0];
  for (const attempt of list) {
    const isCounted = verdictLabel(attempt).tone !== 'bad';
    if (!runs.length || (isCounted && attempt.attempt <= last)) runs.push([]);
    runs.at(-1).push(attempt);
    if (isCounted) last = attempt.attempt;
  }
  return runs;
}

function attempts({ attempts: list, has_more_attempts: hasMore, delivery }) {
  if (list.length < 2) return null;
  const item = (attempt) => {
    const [isShown, verdict] = [keyOf(attempt) === keyOf(delivery), verdictLabel(attempt)];
    return el('li', { class: isShown ? 'here' : null }, el('p', { class: 'answer-line' },
      el('a', { href: `#${attempt.capture}`, 'aria-current': isShown ? 'true' : null }, `#${attempt.capture}`),
      el('time', { dateTime: attempt.at, title: instantWhole(attempt.at) }, instant(attempt.at)),
      responseBadge(attempt),
      el('span', { class: `verdict ${verdict.tone}` }, verdict.text),
      ...marks(attempt).map((text) => el('span', { class: 'mark' }, text))));
  };
  return el('section', { class: 'sheet', 'aria-labelledby': 'attempts-title' },
    el('h3', { id: 'attempts-title' }, 'Attempts'),
    el('p', { class: 'quiet small-text' }, hasMore ? `The newest ${list.length} deliveries of this submission.` : 'All deliveries of this submission.'),
    ...runsOf(list).flatMap((run, index, runs) => [
      runs.length > 1 && el('p', {}, index + 1 < runs.length ? 'Earlier runs of the listener' : 'Latest run of the listener'),
      el('ol', { class: 'attempts' }, ...run.map(item))]));
}

const back = el('p', { class: 'back' }, el('a', { href: '#' }, '← Deliveries'));

const head = ({ delivery }) => el('div', { class: 'head' },
  el('h2', { id: 'detail-title', tabindex: '-1' }, `#${delivery.capture} ${nameOf(delivery)}`),
  responseBadge(delivery));

const headersSection = ({ delivery: { headers } }) => el('section', { class: 'sheet', 'aria-labelledby': 'headers-title' },
  el('h3', { id: 'headers-title' }, 'Headers'), headersTable(headers, 'Headers'), maskNote(headers));

const outcomeOf = ({ delivery: { status, answered_by: by_, took_ms: took } }) => [status, by_, took];

// The parts of the page: the function that creates a part, and the data on which the part depends. A part with the same data stays, so
// that the user loses no input, no result of a replay and no chosen format.
const PARTS = [
  [head, outcomeOf],
  [(detail) => actions(detail, about), () => null],
  [signature, () => null],
  [(detail) => el('section', { class: 'sheet', 'aria-label': 'Facts' }, facts(detail)), outcomeOf],
  [attempts, (detail) => detail.attempts],
  [bodySection, () => null],
  [forwards, (detail) => [detail.delivery.forwards, outcomeOf(detail)]],
  [headersSection, () => null],
];

/** Puts elements into a parent in this order. Elements that are there already are not moved. */
function place(elements, parent) {
  for (const child of [...parent.children]) if (!elements.includes(child)) child.remove();
  let at = parent.firstElementChild;
  for (const element of elements) {
    if (element === at) at = at.nextElementSibling;
    else parent.insertBefore(element, at);
  }
}

/** Draws a delivery. If it is already shown, draws only the parts that have changed. */
function draw(detail) {
  const isSame = shown !== null && keyOf(shown.detail.delivery) === keyOf(detail.delivery);
  const parts = PARTS.map(([create, dataOf], index) => {
    const data = JSON.stringify(dataOf(detail));
    return isSame && shown.parts[index].data === data ? shown.parts[index] : { data, element: create(detail) };
  });
  place([back, ...parts.map((part) => part.element).filter(Boolean)], by('detail-body'));
  shown = { detail, parts };
}

const number = () => (/^#\d{1,18}$/.test(location.hash) ? location.hash.slice(1) : '');

/** Shows the delivery in the URL. `isNew` is true if the user opened the delivery, false if it is loaded again. */
async function show(isNew) {
  const wanted = number();
  select(wanted);
  document.body.classList.toggle('shows-detail', wanted !== '');
  by('detail-empty').hidden = wanted !== '';
  by('detail-body').hidden = wanted === '';
  request?.abort();
  if (!wanted) {
    shown = null;
    by('detail-body').replaceChildren();
    return;
  }
  request = new AbortController();
  try {
    draw(await (await ask(`api/delivery?number=${wanted}`, { signal: request.signal })).json());
  } catch (error) {
    if (error.name === 'AbortError') return;
    shown = null;
    by('detail-body').replaceChildren(back, problem(error));
  }
  if (!isNew) return;
  by('detail').scrollTop = 0;
  if (matchMedia('(max-width: 59.99rem)').matches) {
    scrollTo(0, 0);
    by('detail-title')?.focus({ preventScroll: true });
  }
  announce(`Delivery ${wanted}`);
}

let timer = 0;

/** Loads the shown delivery again if it, or another attempt of its submission, is among these deliveries. */
export function arrived(deliveries) {
  if (!shown) return;
  const { delivery } = shown.detail;
  const concerns = (other) => (keyOf(other) === keyOf(delivery) ? isInFlight(delivery)
    : delivery.submission_id !== null && other.submission_id === delivery.submission_id);
  if (deliveries.some(concerns)) refresh(300);
}

/** Loads the delivery again after the list was loaded. */
export function reloaded() {
  if (shown) refresh(300);
}

/** Loads the delivery again, but not while the user fills in a form. */
function refresh(pause) {
  clearTimeout(timer);
  timer = setTimeout(() => {
    if (by('replay')?.contains(document.activeElement)) refresh(1000);
    else show(false);
  }, pause);
}

/** Switches to the next format of the body. */
export const turnBody = () => by('body')?.next?.();

export function start(facts_) {
  about = facts_;
  addEventListener('hashchange', () => show(true));
  if (number()) show(true);
}
