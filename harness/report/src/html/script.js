'use strict';
// Filters the cases, draws the timelines that are opened, copies commands. What devices said is only
// ever set as text.
(() => {
  const PAGE = 200; // rows that are drawn at once
  const $ = (id) => document.getElementById(id);
  const list = $('list'), search = $('search');
  const cases = [...list.querySelectorAll(':scope > .case')];
  const buttons = [...document.querySelectorAll('.statuses button')];
  document.documentElement.classList.add('js');

  const make = (name, className, text) => {
    const element = document.createElement(name);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };

  // Filter and search
  const words = new Map();
  const wordsOf = (one) => {
    if (!words.has(one)) words.set(one, `${one.textContent} ${one.dataset.found ?? ''}`.toLowerCase());
    return words.get(one);
  };
  function filter() {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const on = new Set(buttons.filter((b) => b.ariaPressed === 'true').map((b) => b.dataset.status));
    let shown = 0;
    for (const one of cases) {
      const fits = on.has(one.dataset.status) && wanted.every((word) => wordsOf(one).includes(word));
      one.hidden = !fits;
      shown += fits;
    }
    $('shown').textContent = shown === cases.length ? `${shown} cases` : `${shown} of ${cases.length} cases`;
    $('none').hidden = shown > 0;
  }
  let waiting;
  search.addEventListener('input', () => { clearTimeout(waiting); waiting = setTimeout(filter, 80); });
  for (const button of buttons) {
    button.addEventListener('click', () => {
      const all = buttons.every((b) => b.ariaPressed === 'true');
      // The first click leaves only this one; the last one switched off brings all back.
      if (all) buttons.forEach((b) => { b.ariaPressed = String(b === button); });
      else button.ariaPressed = String(button.ariaPressed !== 'true');
      if (buttons.every((b) => b.ariaPressed !== 'true')) buttons.forEach((b) => { b.ariaPressed = 'true'; });
      filter();
    });
  }
  document.addEventListener('click', (event) => {
    const find = event.target.closest('[data-find]');
    if (!find) return;
    search.value = find.dataset.find;
    buttons.forEach((b) => { b.ariaPressed = 'true'; });
    filter();
    $('cases').scrollIntoView();
    search.focus({ preventScroll: true });
  });

  // Keys
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === '/' && event.target !== search) {
      event.preventDefault();
      search.focus();
      search.select();
    } else if (event.key === 'Escape' && event.target === search) {
      search.value = '';
      filter();
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const visible = cases.filter((one) => !one.hidden).map((one) => one.firstElementChild);
      const at = visible.indexOf(document.activeElement);
      const next = event.target === search ? (event.key === 'ArrowDown' ? 0 : -1)
        : at < 0 ? -1 : at + (event.key === 'ArrowDown' ? 1 : -1);
      if (visible[next]) {
        event.preventDefault();
        visible[next].focus();
      }
    }
  });

  // Copying
  document.addEventListener('click', async (event) => {
    const button = event.target.closest('.copy');
    if (!button) return;
    const code = button.previousElementSibling;
    let copied = true;
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      getSelection().selectAllChildren(code);
      copied = document.execCommand('copy');
    }
    button.textContent = copied ? 'Copied' : 'Press Ctrl+C';
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  });

  // Timelines
  const NAMES = { send: '→ sent', fence: '→ fence', probe: '→ probe', hello: '→ hello', reply: '→ reply',
    recv: '← received', log: 'console', up: 'connected', down: 'link lost', http: 'HTTP', note: 'note',
    mark: 'remark', reset: 'reset' };
  const LANES = { send: 0, fence: 0, probe: 0, hello: 0, reply: 0, recv: 1, log: 2, up: 3, down: 3, reset: 3,
    http: 3 };
  const LANE_NAMES = ['sent', 'received', 'console', 'resets, links'];
  const LANE_COLOURS = ['var(--link)', 'var(--pass-bar)', 'var(--dim)', 'var(--fail-bar)'];
  const timelines = new Map();

  function time(us) {
    if (us < 1000) return `+${us} µs`;
    if (us < 1e6) return `+${(us / 1000).toFixed(us < 1e4 ? 2 : 1)} ms`;
    return `+${(us / 1e6).toFixed(3)} s`;
  }

  // Breaks JSON into lines, and colours it, without reading it: no digit and no escape of the device gets lost.
  const TOKEN = /"(?:\\.|[^"\\])*"?|[{}[\],:]|[^{}[\],:"]+/gs;
  const ONE_LINE = 56; // the longest object or array that stays on one line
  function pretty(text) {
    const tokens = text.match(TOKEN) ?? [];
    const parts = [];
    let depth = 0, flat = 0; // tokens up to `flat` stay on one line
    const closing = (from) => {
      let length = 0, open = 0;
      for (let i = from; i < tokens.length && length <= ONE_LINE; i++) {
        length += tokens[i].length;
        if (tokens[i] === '{' || tokens[i] === '[') open++;
        else if (tokens[i] === '}' || tokens[i] === ']') open--;
        if (open === 0) return length <= ONE_LINE ? i : 0;
      }
      return 0;
    };
    const line = (i) => { if (i > flat || flat === 0) parts.push('\n' + '  '.repeat(Math.min(depth, 12))); };
    tokens.forEach((token, i) => {
      if (token === '{' || token === '[') {
        if (i > flat || flat === 0) flat = closing(i);
        depth++;
        parts.push(token);
        line(i);
      } else if (token === '}' || token === ']') {
        depth = Math.max(0, depth - 1);
        line(i);
        parts.push(token);
      } else if (token === ',') {
        parts.push(token);
        if (flat > 0 && i < flat) parts.push(' ');
        else line(i);
      } else if (token === ':') parts.push(': ');
      else if (token.trim()) {
        const name = token[0] === '"' ? (tokens[i + 1] === ':' ? 'k' : 's') : /^\s*[-\d]/.test(token) ? 'n' : 'b';
        parts.push(make('span', name, token[0] === '"' ? token : token.trim()));
      }
    });
    return parts;
  }

  // What has to be scrolled is reached by the keyboard.
  function reach(root) {
    for (const one of root.querySelectorAll('pre, .wide')) {
      if (one.scrollHeight <= one.clientHeight && one.scrollWidth <= one.clientWidth) continue;
      one.tabIndex = 0;
      if (!one.hasAttribute('aria-label')) one.setAttribute('aria-label', one.matches('pre') ? 'text' : 'table');
      one.setAttribute('role', 'region');
    }
  }
  document.addEventListener('toggle', (event) => reach(event.target), true);
  addEventListener('resize', () => reach(document));

  // All of the case on one clock; what falls on the same spot is drawn once.
  function strip(rows, width) {
    const W = width, H = 70, LEFT = 84;
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    const add = (name, attributes, text) => {
      const element = document.createElementNS(svg.namespaceURI, name);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      if (text) element.textContent = text;
      svg.append(element);
    };
    svg.setAttribute('viewBox', `0 0 ${W} ${H}`);
    svg.setAttribute('preserveAspectRatio', 'none');
    svg.setAttribute('role', 'img');
    const last = rows.reduce((most, row) => Math.max(most, row[0] === 'gap' ? 0 : row[2]), 1);
    svg.setAttribute('aria-label', `All that happened in ${time(last)}; the list below tells the same`);
    const drawn = new Set();
    LANE_NAMES.forEach((name, lane) => {
      add('text', { x: 4, y: 14 + lane * 15 }, name);
    });
    for (const row of rows) {
      const lane = LANES[row[0]];
      if (lane === undefined) continue;
      const x = LEFT + Math.round((row[2] / last) * (W - LEFT - 6) * 2) / 2;
      if (drawn.has(x * 4 + lane)) continue;
      drawn.add(x * 4 + lane);
      add('rect', { x, y: 5 + lane * 15, width: 2, height: 11, fill: LANE_COLOURS[lane] });
    }
    add('text', { x: LEFT, y: H - 2 }, '0');
    add('text', { x: W - 6, y: H - 2, 'text-anchor': 'end' }, time(last));
    return svg;
  }

  // What is the same in every message does not stand before what is not.
  function short(text) {
    const envelope = /^\{"session_id":"[^"]*","type":"mcp","payload":(.*)\}$/.exec(text);
    return (envelope ? `… ${envelope[1]}` : text).replace('"jsonrpc":"2.0",', '').slice(0, 260);
  }

  function rowOf(row, line, found) {
    const item = make('li');
    if (row[0] === 'gap') {
      item.className = 'gap';
      item.textContent = `Lines ${row[1]} to ${row[2]} of the transcript are left out here.`;
      return item;
    }
    const [kind, seq, at, step, text, cut] = row;
    const base = LANES[kind] === 0 ? 'send' : kind;
    item.className = base + (found.has(seq) ? ' found' : '');
    item.dataset.seq = seq;
    const when = make('span', 'at', time(at));
    when.title = `line ${line}, seq ${seq}`;
    const what = make('div', 'what');
    const shown = cut ? `${text}\n(cut here; whole in line ${line} of the transcript)` : text;
    if (text.length > 70 || cut) {
      const fold = make('details');
      fold.append(make('summary', '', short(text)));
      fold.addEventListener('toggle', () => {
        if (fold.open && fold.childElementCount === 1) {
          const looks = text[0] === '{' || text[0] === '[';
          const block = make('pre');
          block.setAttribute('aria-label', `${NAMES[kind] ?? kind}, ${time(at)}`);
          block.append(...(looks ? [...pretty(text), shown.slice(text.length)] : [shown]));
          fold.append(block);
          reach(fold);
        }
      });
      what.append(fold);
    } else what.append(make('span', '', shown || '(empty)'));
    const place = make('span', 'step', step && `step ${step}`);
    item.append(when, make('span', 'kind', NAMES[kind] ?? kind), what, place);
    return item;
  }

  // Draws the rows from one to another, and buttons for what is before and after them.
  function draw(timeline) {
    const { place, rows, lines, from, to, found } = timeline;
    const ordered = make('ol', 'rows');
    for (let i = from; i < to; i++) ordered.append(rowOf(rows[i], lines[i], found));
    const button = (text, move) => {
      const element = make('button', 'more', text);
      element.type = 'button';
      element.addEventListener('click', () => { move(); draw(timeline); });
      return element;
    };
    const parts = [timeline.strip, make('p', 'dim', `${timeline.file}: rows ${from + 1} to ${to} of ${rows.length}`)];
    if (from > 0) {
      parts.push(button(`${Math.min(PAGE, from)} earlier rows`, () => {
        timeline.from = Math.max(0, from - PAGE);
        timeline.to = Math.min(to, timeline.from + 5 * PAGE);
      }));
    }
    parts.push(ordered);
    if (to < rows.length) {
      parts.push(button(`${Math.min(PAGE, rows.length - to)} more rows of ${rows.length - to}`, () => {
        timeline.to = Math.min(rows.length, to + PAGE);
        timeline.from = Math.max(from, timeline.to - 5 * PAGE);
      }), ' ', button('to the end', () => {
        timeline.from = Math.max(0, rows.length - PAGE);
        timeline.to = rows.length;
      }));
    }
    place.replaceChildren(...parts);
  }

  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
    return JSON.parse(await new Response(stream).text());
  }

  async function load(one) {
    const place = one.querySelector('.timeline');
    let data;
    try {
      data = await unpacked($(one.dataset.timeline).textContent);
    } catch (error) {
      place.replaceChildren(make('p', 'cut', `This browser cannot show the timeline (${error}); the transcript has the same.`));
      return undefined;
    }
    const { file, rows } = data;
    const lines = [];
    let line = 0;
    for (const row of rows) {
      line = row[0] === 'gap' ? row[2] : line + 1;
      lines.push(line);
    }
    const seqs = [...one.querySelectorAll('.finding a[href*="@"]')].map((a) => Number(a.hash.split('@').pop()));
    const timeline = { place, file, rows, lines, found: new Set(seqs), from: 0,
      to: Math.min(PAGE, rows.length), strip: strip(rows, Math.max(200, one.clientWidth - 30)) };
    draw(timeline);
    return timeline;
  }

  // A timeline is unpacked and drawn once.
  function open(one) {
    if (one.dataset.timeline && !timelines.has(one)) timelines.set(one, load(one));
    return timelines.get(one);
  }
  for (const one of cases) one.addEventListener('toggle', () => { if (one.open) open(one); });

  // Addresses: #native/ws/ids/echo opens a case, ...@17 shows the row of that position; #requirement/ids.echo is a
  // requirement.
  async function follow() {
    const [name, seq] = decodeURIComponent(location.hash.slice(1)).split('@');
    const one = name && $(name);
    if (!one) return;
    for (let at = one; at; at = at.parentElement) if (at.matches('details')) at.open = true;
    if (!one.classList.contains('case')) {
      one.scrollIntoView({ block: one.matches('tr') ? 'center' : 'start' });
      return;
    }
    one.hidden = false;
    const timeline = await open(one);
    let target = one;
    if (seq && timeline) {
      const at = timeline.rows.findIndex((row) => row[0] !== 'gap' && row[1] === Number(seq));
      if (at >= 0) {
        if (at < timeline.from || at >= timeline.to) {
          timeline.from = Math.max(0, at - PAGE / 2);
          timeline.to = Math.min(timeline.rows.length, timeline.from + PAGE);
          draw(timeline);
        }
        target = timeline.place.querySelector(`[data-seq="${Number(seq)}"]`);
        target.classList.add('found');
        const fold = target.querySelector('details');
        if (fold) fold.open = true;
      }
    }
    target.scrollIntoView({ block: target === one ? 'start' : 'center' });
    one.firstElementChild.focus({ preventScroll: true });
  }
  addEventListener('hashchange', follow);
  // A link to where one is already is followed too.
  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && link.hash === location.hash) follow();
  });

  // On paper what is broken is open.
  let opened = [];
  addEventListener('beforeprint', () => {
    opened = cases.filter((one) => ['fail', 'error', 'inconc', 'known'].includes(one.dataset.status) && !one.open);
    opened.forEach((one) => { one.open = true; });
  });
  addEventListener('afterprint', () => { opened.forEach((one) => { one.open = false; }); });

  filter();
  reach(document);
  follow();
})();
