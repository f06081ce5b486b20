// The actions of a delivery: replay it as received or edited, and copy it as a curl command.

import { announce, ask, by, el, problem, sentence, send } from './dom.js';
import { resultView } from './detail.js';
import { load } from './body.js';
import { editable, oneLine, shorten, textOf } from './text.js';

// Longer bodies are edited on the command line.
const EDITED_MAX = 1 << 20;
// Longest address in the choice, in characters.
const ADDRESS_MAX = 120;

/** Returns the address of a target for a delivery. A target without a path gets the path of the delivery. */
function resolve(address, requestTarget) {
  const url = new URL(address);
  const isBare = url.pathname === '/' && !url.search && !url.hash;
  const path = requestTarget.startsWith('/') ? requestTarget : '/';
  return shorten(oneLine(isBare ? address.replace(/\/$/, '') + path : address), ADDRESS_MAX);
}

/** Returns the destinations: `[value of the request, label]`. */
function destinations({ targets, listener }, delivery) {
  const target = delivery.request_target;
  const known = targets.length ? targets.map((url, index) => [{ target: index }, resolve(url, target)])
    : delivery.forwards.map(({ url }, index) => [{ forward: index }, shorten(oneLine(url), ADDRESS_MAX)]);
  if (listener) known.push(['listener', `${resolve(listener, target)} (this listener)`]);
  return known;
}

function destinationField(about, delivery) {
  const known = destinations(about, delivery);
  const choice = el('select', { id: 'replay-to' },
    ...known.map(([, label], index) => el('option', { value: String(index) }, label)),
    el('option', { value: 'other' }, 'Other address'));
  const input = el('input', { id: 'replay-url', type: 'text', inputmode: 'url', maxlength: '2000', placeholder: 'http://localhost:3000/hook', spellcheck: false });
  const field = el('div', { class: 'field', hidden: known.length > 0 }, el('label', { for: 'replay-url' }, 'Address'), input);
  choice.addEventListener('change', () => {
    field.hidden = choice.value !== 'other';
    if (!field.hidden) input.focus();
  });
  const view = el('div', { class: 'fields' },
    el('div', { class: 'field' }, el('label', { for: 'replay-to' }, 'Send to'), choice), field);
  view.value = () => (choice.value === 'other' ? { url: input.value.trim() } : known[Number(choice.value)][0]);
  return view;
}

/** Returns the choice of the signature. A fresh signature for a delivery of an unknown sender needs a confirmation. */
function signatureField(about, { needs_confirmation: needed }, isEdit) {
  const isFresh = about.can_sign && !needed;
  const option = (value, text, checked, disabled) => el('label', { class: 'choice' },
    el('input', { type: 'radio', name: 'replay-signature', value, checked, disabled }), ` ${text}`);
  const box = el('input', { type: 'checkbox', id: 'replay-confirmed' });
  const confirmation = el('div', { class: 'meant', hidden: true },
    el('label', { class: 'choice' }, box, ' Sign it although its sender is unknown'),
    el('p', { class: 'quiet small-text' }, `${sentence(needed ?? '')} With a fresh signature, a receiver accepts it.`));
  const view = el('fieldset', {}, el('legend', {}, 'Signature'),
    option('fresh', 'Made now', isFresh, !about.can_sign),
    needed && about.can_sign && confirmation,
    option('as_received', 'As received', !isFresh, false),
    isEdit && el('p', { class: 'quiet small-text' }, 'The received signature does not match an edited body.'),
    !about.can_sign && el('p', { class: 'quiet small-text' }, 'There is no signing secret, so no signature can be made.'));
  const chosen = () => view.querySelector('input[type="radio"]:checked').value;
  view.addEventListener('change', () => {
    confirmation.hidden = chosen() !== 'fresh';
    box.required = !confirmation.hidden;
  });
  view.value = () => ({ is_fresh: chosen() === 'fresh', is_confirmed: box.checked });
  return view;
}

/** Returns the section with the result of a replay. */
function resultSection(report, { body, is_fresh: isFresh }) {
  const sent = `${body === null ? 'Same body' : 'Edited body'}, ${isFresh ? 'signature made now' : 'signature as received'}.`;
  const before = report.earlier_status === null ? '' : ` Earlier status: ${report.earlier_status}.`;
  return el('section', { class: 'sheet result', 'aria-labelledby': 'result-title' },
    el('h3', { id: 'result-title', tabindex: '-1' }, `Replayed to ${oneLine(report.url)}`),
    el('p', { class: 'quiet' }, `${sent}${before}`),
    report.needs_password && el('p', {}, 'The target asks for a password, which captures do not contain. Choose “Other address” and enter its URL with user name and password.'),
    resultView(report, 'Response to the replay'));
}

/** Returns the text of the body to edit. */
async function editableBody(delivery) {
  if (delivery.body_size > EDITED_MAX) {
    throw new Error(`The body is too large to edit here. Use: formsvc webhook replay ${delivery.capture} --edit`);
  }
  const text = textOf(await load(delivery));
  const original = text === undefined ? undefined : editable(text);
  if (original === undefined) throw new Error('The body is not text, so it cannot be edited here.');
  return original;
}

/** Opens the form of a replay, or closes it if it is open. */
async function openForm(place, results, detail, about, isEdit) {
  const { delivery } = detail;
  if (by('replay')) {
    const wasEdit = Boolean(by('replay-body'));
    place.replaceChildren();
    if (wasEdit === isEdit) return;
  }
  let original;
  try {
    if (isEdit) original = await editableBody(delivery);
  } catch (error) {
    place.replaceChildren(problem(error));
    return;
  }
  const to = destinationField(about, delivery);
  const area = isEdit && el('textarea', { id: 'replay-body', rows: '12', spellcheck: false, value: original.text });
  const unchanged = area && area.value;
  const signing = signatureField(about, detail.signature, isEdit);
  const button = el('button', { type: 'submit', class: 'first' }, 'Send');
  const errors = el('div', {});
  const form = el('form', { id: 'replay', class: 'sheet', 'aria-label': isEdit ? 'Edit and replay' : 'Replay' },
    el('h3', {}, isEdit ? 'Edit and replay' : 'Replay'),
    to,
    area && el('div', { class: 'field' }, el('label', { for: 'replay-body' }, 'Body'), area,
      area.value.includes('⟨U+') && el('p', { class: 'quiet small-text' }, '⟨U+…⟩ represents an invisible character, which is sent.')),
    signing, errors,
    el('div', { class: 'do' }, button,
      el('button', { type: 'button', onclick: () => { place.replaceChildren(); by('do-replay').focus(); } }, 'Cancel')));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    button.disabled = true;
    button.textContent = 'Sending…';
    errors.replaceChildren();
    try {
      const body = area && area.value !== unchanged ? original.back(area.value) : null;
      const request = { number: delivery.capture, to: to.value(), ...signing.value(), body };
      const report = await send('api/replay', request);
      for (const older of results.children) older.querySelector('h3').removeAttribute('id');
      const view = resultSection(report, request);
      results.prepend(view);
      while (results.children.length > 5) results.lastElementChild.remove();
      if (!isEdit) place.replaceChildren();
      by('result-title').focus({ preventScroll: true });
      view.scrollIntoView({ block: 'nearest' });
      announce(report.error === null ? `Response ${report.status}` : 'No response');
    } catch (error) {
      errors.replaceChildren(problem(error));
    }
    button.disabled = false;
    button.textContent = 'Send';
  });
  place.replaceChildren(form);
  (area || button).focus({ preventScroll: true });
  if (area) area.setSelectionRange(0, 0);
  form.scrollIntoView({ block: 'nearest' });
}

async function copyCurl(place, { delivery }) {
  let report;
  try {
    report = await (await ask(`api/curl?number=${delivery.capture}`)).json();
  } catch (error) {
    place.replaceChildren(problem(error));
    return;
  }
  let result = report.is_signed ? 'Copied.' : 'Copied, but receivers reject the delivery.';
  try {
    await navigator.clipboard.writeText(report.command);
  } catch {
    result = 'The browser does not allow the page to copy. Select the command and copy it.';
  }
  const section = el('section', { class: 'sheet', 'aria-label': 'curl command' },
    el('p', { id: 'curl-result', tabindex: '-1' }, result),
    el('p', { class: 'quiet small-text' }, oneLine(report.note)),
    el('pre', { class: 'command all tall', id: 'curl', tabindex: '0', role: 'region', 'aria-label': 'Command' }, report.command),
    el('div', { class: 'do' }, el('button', { type: 'button', onclick: () => { place.replaceChildren(); by('do-curl').focus(); } }, 'Close')));
  place.replaceChildren(section);
  announce(result);
  by('curl-result').focus({ preventScroll: true });
  section.scrollIntoView({ block: 'nearest' });
}

/** Returns the buttons of a delivery, its open form and the results of replays. */
export function actions(detail, about) {
  const [place, results] = [el('div', { class: 'stack' }), el('div', { class: 'stack' })];
  const form = (isEdit) => () => openForm(place, results, detail, about, isEdit);
  return el('div', { class: 'stack' },
    el('div', { class: 'do' },
      el('button', { type: 'button', id: 'do-replay', class: 'first', onclick: form(false) }, 'Replay'),
      el('button', { type: 'button', id: 'do-edit', onclick: form(true) }, 'Edit and replay'),
      el('button', { type: 'button', id: 'do-curl', onclick: () => copyCurl(place, detail) }, 'Copy as curl')),
    place, results);
}
