// Elements, made of text alone: nothing that came from elsewhere is ever read as markup.

/** The element with an id. */
export const by = (id) => document.getElementById(id);

/**
 * Makes an element. Properties are set, `data-` and `aria-` ones and those that are no properties as
 * attributes, `on…` ones as listeners; children are elements or texts.
 */
export function el(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (key === 'class') element.className = value;
    else if (key in element && !key.includes('-')) element[key] = value;
    else if (value !== false) element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

/** Asks for something below the address of the page. */
export async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, { credentials: 'omit', cache: 'no-store', ...options });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Error('The listener does not answer. Is it still running?');
  }
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  const error = new Error(told.error ?? `The listener answered ${answer.status}.`);
  error.hint = told.hint;
  throw error;
}

/** Sends JSON, and reads JSON. */
export async function send(path, value) {
  const headers = { 'content-type': 'application/json' };
  return (await ask(path, { method: 'POST', headers, body: JSON.stringify(value) })).json();
}

/** Says something to those who do not see the page. */
export function say(text) {
  by('said').textContent = '';
  requestAnimationFrame(() => { by('said').textContent = text; });
}

/** What went wrong, as a part of the page. */
export function problem(error) {
  return el('div', { class: 'callout bad', role: 'alert' },
    el('p', {}, error.message), error.hint && el('p', { class: 'quiet' }, error.hint));
}
