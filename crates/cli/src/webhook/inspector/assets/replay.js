// What can be done with a delivery: send it once more, as it came or edited, and copy it as curl.

import { ask, by, el, problem, say, send } from './dom.js';
import { answerView, silence } from './detail.js';
import { load } from './body.js';
import { base64, editable, oneLine, textOf } from './text.js';

// Longer bodies are edited in files, with `formsvc webhook replay --edit`.
const EDITED_MOST = 1 << 20;

const [LISTENER, OTHER] = ['listener', 'other'];

// A longer one is cut in the choice.
const ADDRESS_MOST = 120;

/** Where a delivery goes at an address: to the path and query it came to, unless the address has its own. */
function reached(address, came) {
  const url = new URL(address);
  const isBare = url.pathname === '/' && !url.search && !url.hash;
  const whole = isBare ? address.replace(/\/$/, '') + (came.startsWith('/') ? came : '/') : address;
  const shown = oneLine(whole);
  return shown.length > ADDRESS_MOST ? `${shown.slice(0, ADDRESS_MOST)}…` : shown;
}

/** Where to: what the listener forwards to, the listener itself, or an address that is typed. */
function whereTo(about, came) {
  const options = [
    ...about.targets.map((url, place) => el('option', { value: `target ${place}` }, reached(url, came))),
    el('option', { value: LISTENER }, `${reached(about.address, came)} (this listener)`),
    el('option', { value: OTHER }, 'another address'),
  ];
  const choice = el('select', { id: 'replay-to' }, ...options);
  const other = el('input', { id: 'replay-url', type: 'text', inputmode: 'url', maxlength: '2000', placeholder: 'http://localhost:3000/hook', spellcheck: false });
  const field = el('div', { class: 'field', hidden: true }, el('label', { for: 'replay-url' }, 'Address'), other);
  choice.addEventListener('change', () => {
    field.hidden = choice.value !== OTHER;
    if (!field.hidden) other.focus();
  });
  const view = el('div', { class: 'fields' },
    el('div', { class: 'field' }, el('label', { for: 'replay-to' }, 'Send to'), choice), field);
  view.value = () => {
    if (choice.value === LISTENER) return LISTENER;
    return choice.value === OTHER ? { url: other.value.trim() } : { target: Number(choice.value.split(' ')[1]) };
  };
  return view;
}

/** What it is signed with. What a receiver refuses is signed anew only where that is said. */
function signature(about, { refused }, edits) {
  const isFresh = about.can_sign && !refused;
  const way = (value, text, checked, disabled) => el('label', { class: 'choice' },
    el('input', { type: 'radio', name: 'replay-signature', value, checked, disabled }), ` ${text}`);
  const box = el('input', { type: 'checkbox', id: 'replay-unverified' });
  const meant = el('div', { class: 'meant', hidden: true },
    el('label', { class: 'choice' }, box, ' Sign it although it is not verified'),
    el('p', { class: 'quiet small-text' }, `A receiver refuses it: ${refused}. Signed, it passes for one that the service sent.`));
  const view = el('fieldset', {}, el('legend', {}, 'Signature'),
    way('fresh', 'made now', isFresh, !about.can_sign),
    refused && about.can_sign && meant,
    way('kept', 'as it came', !isFresh, false),
    edits && el('p', { class: 'quiet small-text' }, 'The signature it came with matches no other body.'),
    !about.can_sign && el('p', { class: 'quiet small-text' }, 'Without a signing secret the listener signs nothing.'));
  const chosen = () => view.querySelector('input[type="radio"]:checked').value;
  view.addEventListener('change', () => { meant.hidden = chosen() !== 'fresh'; });
  view.value = () => ({ signature: chosen(), unverified: box.checked });
  return view;
}

/** What came of a replay, beside what came of the delivery. */
function outcome(result, delivery) {
  const before = delivery.row.answer;
  const was = !before ? '' : before.status === null ? ' Its sender was dropped then.' : ` Its sender was answered ${before.status} then.`;
  return el('section', { class: 'sheet result', 'aria-labelledby': 'result-title' },
    el('h3', { id: 'result-title', tabindex: '-1' }, `Replayed to ${result.url}`),
    el('p', { class: 'quiet' }, `${result.how}.${was}`),
    result.answer ? answerView(result.answer, 'Answer to the replay') : silence(result.silence));
}

/** Sets the form of a replay up, with a text to edit if the body is to be. */
async function openForm(place, results, delivery, about, edits) {
  if (by('replay')) {
    const edited = Boolean(by('replay-body'));
    place.replaceChildren();
    if (edited === edits) return;
  }
  let original;
  if (edits) {
    if (delivery.row.length > EDITED_MOST) {
      place.replaceChildren(problem(new Error(`The body is too large for this page. Edit a copy: formsvc webhook replay ${delivery.row.number} --edit`)));
      return;
    }
    try {
      const text = textOf(await load(delivery.row.number));
      original = text === undefined ? undefined : editable(text);
    } catch (error) {
      place.replaceChildren(problem(error));
      return;
    }
    if (original === undefined) {
      place.replaceChildren(problem(new Error('The body is no text, and cannot be edited here.')));
      return;
    }
  }
  const to = whereTo(about, delivery.row.request_target);
  const area = edits && el('textarea', { id: 'replay-body', rows: '12', spellcheck: false, value: original.text });
  const untouched = area && area.value;
  const signing = signature(about, delivery.advice, edits);
  const button = el('button', { type: 'submit', class: 'first' }, 'Send');
  const trouble = el('div', {});
  const form = el('form', { id: 'replay', class: 'sheet', 'aria-label': edits ? 'Edit and replay' : 'Replay' },
    el('h3', {}, edits ? 'Edit and replay' : 'Replay'),
    to,
    area && el('div', { class: 'field' }, el('label', { for: 'replay-body' }, 'Body'), area,
      area.value.includes('⟨U+') && el('p', { class: 'quiet small-text' }, '⟨U+…⟩ stands for a character that does not show, and is sent as that character.')),
    signing, trouble,
    el('div', { class: 'do' }, button,
      el('button', { type: 'button', onclick: () => { place.replaceChildren(); by('do-replay').focus(); } }, 'Cancel')));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    button.disabled = true;
    button.textContent = 'Sending…';
    trouble.replaceChildren();
    const edited = area && area.value !== untouched;
    try {
      const result = await send('api/replay', {
        number: delivery.row.number,
        to: to.value(),
        ...signing.value(),
        body: edited ? base64(new TextEncoder().encode(original.back(area.value))) : null,
      });
      const view = outcome(result, delivery);
      results.prepend(view);
      while (results.children.length > 5) results.lastElementChild.remove();
      if (!edits) place.replaceChildren();
      by('result-title').focus({ preventScroll: true });
      view.scrollIntoView({ block: 'nearest' });
      say(result.answer ? `Answered ${result.answer.status}` : 'No answer');
      for (const older of [...results.children].slice(1)) older.querySelector('h3').removeAttribute('id');
    } catch (error) {
      trouble.replaceChildren(problem(error));
    }
    button.disabled = false;
    button.textContent = 'Send';
  });
  place.replaceChildren(form);
  (area || button).focus({ preventScroll: true });
  if (area) area.setSelectionRange(0, 0);
  form.scrollIntoView({ block: 'nearest' });
}

async function copyCurl(place, delivery) {
  let text;
  try {
    text = await (await ask(`api/curl?number=${delivery.row.number}`)).text();
  } catch (error) {
    place.replaceChildren(problem(error));
    return;
  }
  let said = 'Copied.';
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    said = 'The browser does not let the page copy. Select the text and copy it.';
  }
  const masked = delivery.headers.some((header) => header.masked);
  const section = el('section', { class: 'sheet', 'aria-label': 'As curl' },
    el('p', { id: 'curl-said', tabindex: '-1' }, said),
    masked && el('p', { class: 'quiet small-text' }, 'What is secret in its headers is masked; a listener with --reveal shows it.'),
    el('pre', { class: 'command all tall', id: 'curl', tabindex: '0', role: 'region', 'aria-label': 'The command' }, text),
    el('div', { class: 'do' }, el('button', { type: 'button', onclick: () => { place.replaceChildren(); by('do-curl').focus(); } }, 'Close')));
  place.replaceChildren(section);
  say(said);
  by('curl-said').focus({ preventScroll: true });
  section.scrollIntoView({ block: 'nearest' });
}

/** The buttons of a delivery, and what comes of them. */
export function actions(delivery, about) {
  const [place, results] = [el('div', { class: 'stack' }), el('div', { class: 'stack' })];
  const form = (edits) => () => openForm(place, results, delivery, about, edits);
  return el('div', { class: 'stack' },
    el('div', { class: 'do' },
      el('button', { type: 'button', id: 'do-replay', class: 'first', onclick: form(false) }, 'Replay'),
      el('button', { type: 'button', id: 'do-edit', onclick: form(true) }, 'Edit and replay'),
      el('button', { type: 'button', id: 'do-curl', onclick: () => copyCurl(place, delivery) }, 'Copy as curl')),
    place, results);
}
