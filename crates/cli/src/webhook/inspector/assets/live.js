// The stream: deliveries as they come. It is closed while nobody looks, and goes on where it was.

import { by } from './dom.js';

const WORDS = { wait: 'Connecting…', live: 'Live', lost: 'Not connected', end: 'The listener has ended', rest: 'Paused' };

let [source, seen, ended, retry] = [null, null, false, 0];
let queue = [];
let drawing = 0;

function show(state) {
  by('live').dataset.state = state;
  if (by('live-text').textContent !== WORDS[state]) by('live-text').textContent = WORDS[state];
}

/** Follows from after an event on; `take` gets rows, `anew` is called where some were missed. */
export function follow(last, take, anew) {
  seen = last;
  const draw = () => {
    drawing = 0;
    const rows = queue;
    queue = [];
    // The last word on each delivery.
    take([...new Map(rows.map((row) => [row.key, row])).values()]);
  };
  const reload = async () => {
    try {
      seen = await anew();
    } catch {
      // The stream tells when the listener is there again.
    }
  };
  const open = () => {
    clearTimeout(retry);
    source?.close();
    source = new EventSource(`api/events?after=${seen}`);
    source.addEventListener('open', () => show('live'));
    source.addEventListener('row', (event) => {
      seen = Number(event.lastEventId);
      queue.push(JSON.parse(event.data));
      drawing ||= requestAnimationFrame(draw);
    });
    source.addEventListener('anew', (event) => {
      seen = Number(event.lastEventId);
      reload();
    });
    source.addEventListener('end', () => {
      ended = true;
      source.close();
      show('end');
    });
    source.addEventListener('error', () => {
      if (ended) return;
      show('lost');
      // Browsers come back by themselves after a break, and not after a refusal.
      if (source.readyState === EventSource.CLOSED) retry = setTimeout(open, 2000);
    });
  };
  document.addEventListener('visibilitychange', () => {
    if (ended) return;
    if (document.hidden) {
      clearTimeout(retry);
      source.close();
      show('rest');
    } else {
      open();
    }
  });
  open();
}
