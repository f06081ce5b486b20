// Sets up the page and its keyboard shortcuts.

import { ask, by, el, problem } from './dom.js';
import * as detail from './detail.js';
import * as list from './list.js';
import { follow } from './live.js';
import { oneLine } from './text.js';

const press = (id) => by(id)?.click();

const KEYS = {
  j: () => list.go(1),
  k: () => list.go(-1),
  g: () => list.goNewest(),
  r: () => press('do-replay'),
  e: () => press('do-edit'),
  c: () => press('do-curl'),
  w: () => press('do-explain'),
  b: () => detail.turnBody(),
  '/': () => {
    if (location.hash && matchMedia('(max-width: 59.99rem)').matches) location.hash = '';
    by('filter-text').focus();
    by('filter-text').select();
  },
  '?': () => by('help').showModal(),
};

function escape() {
  const form = document.activeElement?.closest('#replay');
  if (form || document.activeElement === by('filter-text')) {
    document.activeElement.blur();
    return;
  }
  const current = location.hash.slice(1);
  if (!current) return;
  location.hash = '';
  list.rows().find((row) => row.dataset.key === current)?.focus();
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || by('help').open) return;
  if (event.key === 'Escape') {
    escape();
    return;
  }
  if (event.target.closest('input, textarea, select')) return;
  const inList = event.target.closest('.row');
  const key = inList && event.key === 'ArrowDown' ? 'j' : inList && event.key === 'ArrowUp' ? 'k' : event.key;
  if (!Object.hasOwn(KEYS, key)) return;
  event.preventDefault();
  KEYS[key]();
}

/** Shows the source of the deliveries: a listener, or a store without a listener. */
function describe({ listener, folder, can_sign }) {
  by('source-label').textContent = listener ? 'Listening at' : 'Stored deliveries in';
  by('source').textContent = listener ?? oneLine(folder ?? 'memory');
  by('empty-hint').textContent = listener ? 'Send a delivery from another terminal:' : 'Record deliveries with a listener:';
  by('empty-command').textContent = listener
    ? `formsvc webhook trigger ${listener}${can_sign ? ' --secret-file FILE' : ''}`
    : 'formsvc webhook listen';
}

async function start() {
  // The cookie has the token from now on, so the history need not contain it.
  if (location.search) history.replaceState(null, '', location.pathname + location.hash);
  const about = await (await ask('api/about')).json();
  describe(about);
  list.start(about, detail.arrived);
  detail.start(about);
  by('help-open').addEventListener('click', () => by('help').showModal());
  addEventListener('keydown', onKey);
  follow(list.arrived, async () => {
    await list.reload();
    detail.reloaded();
  });
}

start().catch((error) => {
  by('detail-empty').replaceChildren(problem(error), el('p', {}, 'Reload the page to try again.'));
});
