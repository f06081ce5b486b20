// Live changes from server-sent events. The stream is closed while the page is hidden.

import { by } from './dom.js';
import { keyOf } from './list.js';

const TEXTS = { wait: 'Connecting…', live: 'Live', lost: 'Not connected', end: 'Stopped', pause: 'Paused' };
// Shortest time between two loads of the list.
const RELOAD_PAUSE = 500;

let [source, hasEnded, retry] = [null, false, 0];
let queue = [];
let drawing = 0;

function show(state) {
  by('live').dataset.state = state;
  if (by('live-text').textContent !== TEXTS[state]) by('live-text').textContent = TEXTS[state];
}

/**
 * Follows the deliveries. `take` receives new and changed deliveries. `reload` loads the list: each time that the stream
 * opens, because changes before that are not in the stream, and when the page cannot keep up.
 */
export function follow(take, reload) {
  let [reloading, isAgain] = [null, false];
  const load = async () => {
    if (reloading) {
      isAgain = true;
      return;
    }
    const pause = new Promise((done) => { setTimeout(done, RELOAD_PAUSE); });
    // After an error the stream opens again, and loads the list.
    reloading = reload().catch(() => {});
    await reloading;
    await pause;
    reloading = null;
    if (isAgain) {
      isAgain = false;
      load();
    }
  };
  const draw = async () => {
    // Wait for the list that is being loaded, which may be older than the queued deliveries.
    await reloading;
    drawing = 0;
    const deliveries = queue;
    queue = [];
    // Keep only the last state of each delivery.
    take([...new Map(deliveries.map((delivery) => [keyOf(delivery), delivery])).values()]);
  };
  const open = () => {
    clearTimeout(retry);
    source?.close();
    source = new EventSource('api/events');
    source.addEventListener('open', () => {
      show('live');
      load();
    });
    source.addEventListener('delivery', (event) => {
      queue.push(JSON.parse(event.data));
      drawing ||= requestAnimationFrame(draw);
    });
    source.addEventListener('reload', load);
    source.addEventListener('end', () => {
      hasEnded = true;
      source.close();
      show('end');
    });
    source.addEventListener('error', () => {
      if (hasEnded) return;
      show('lost');
      // Browsers reconnect by themselves, except after an error response.
      if (source.readyState === EventSource.CLOSED) retry = setTimeout(open, 2000);
    });
  };
  document.addEventListener('visibilitychange', () => {
    if (hasEnded) return;
    if (document.hidden) {
      clearTimeout(retry);
      source.close();
      show('pause');
    } else {
      open();
    }
  });
  open();
}
