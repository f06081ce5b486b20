// Sets the page up, and knows its keys.

import { ask, by, el, problem } from './dom.js';
import * as detail from './detail.js';
import * as list from './list.js';
import { follow } from './live.js';

const press = (id) => by(id)?.click();

const KEYS = {
  j: () => list.go(1),
  k: () => list.go(-1),
  g: () => list.goNewest(),
  r: () => press('do-replay'),
  e: () => press('do-edit'),
  c: () => press('do-curl'),
  w: () => press('do-why'),
  b: () => detail.turnBody(),
  '/': () => {
    if (location.hash && matchMedia('(max-width: 59.99rem)').matches) location.hash = '';
    by('filter-text').focus();
    by('filter-text').select();
  },
  '?': () => by('help').showModal(),
};

function escape() {
  const typing = document.activeElement?.closest('#replay');
  if (typing) {
    document.activeElement.blur();
    return;
  }
  if (document.activeElement === by('filter-text')) {
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

async function start() {
  const about = await (await ask('api/about')).json();
  by('address').textContent = about.address;
  by('empty-command').textContent = `formsvc webhook trigger ${about.address}${about.can_sign ? ' --secret-file FILE' : ''}`;
  list.start(about, detail.arrived);
  detail.start(about);
  by('help-open').addEventListener('click', () => by('help').showModal());
  addEventListener('keydown', onKey);
  follow(await list.reload(), list.arrived, list.reload);
}

start().catch((error) => {
  by('detail-empty').replaceChildren(problem(error), el('p', {}, 'Reload the page to try again.'));
});
