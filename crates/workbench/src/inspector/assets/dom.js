// Creates elements and sends requests. All content is inserted as text, never as markup.

/** Returns the element with an id. */
export const by = (id) => document.getElementById(id);

/**
 * Creates an element. Names that begin with `on` are listeners, names of properties are set as properties, all
 * others as attributes. Children are elements or texts.
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

/** Requests a path relative to the page. Throws an error with a message for the user. */
export async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { credentials: 'same-origin', cache: 'no-store', ...options });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Error('The inspector does not respond. Check that its command is still running.');
  }
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  const error = new Error(problem.error ? sentence(problem.error) : `The inspector responded with status ${response.status}.`);
  error.hint = problem.hint;
  throw error;
}

/** Sends JSON and returns the JSON of the response. */
export async function send(path, value) {
  const headers = { 'content-type': 'application/json' };
  return (await ask(path, { method: 'POST', headers, body: JSON.stringify(value) })).json();
}

/** Returns a clause as a sentence. */
export const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? '' : '.'}`;

/** Returns the parts of a text, with those between backticks as code. */
export const withCode = (text) => text.split('`').map((part, index) => (index % 2 ? el('code', {}, part) : part));

/** Announces a text to screen readers. */
export function announce(text) {
  by('announcement').textContent = '';
  requestAnimationFrame(() => { by('announcement').textContent = text; });
}

/** Returns a box with an error. */
export function problem(error) {
  return el('div', { class: 'callout bad', role: 'alert' },
    el('p', {}, ...withCode(error.message)), error.hint && el('p', { class: 'quiet' }, error.hint));
}
