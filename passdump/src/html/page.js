'use strict';
// The page holds the text of each function at first, and for each step the lines that it changed. Whatever is shown is
// put together from these, and its hash compared with that of the text that the compiler had.
const data = JSON.parse(document.getElementById('data').textContent);
const $ = id => document.getElementById(id);
const ROW = 18;
const state = { step: 0, filter: '', value: null, tab: 'code', changes: false, block: null };

// --- Texts ---------------------------------------------------------------------------------------------------------

const EVERY = 64;
const kept = data.functions.map(f => new Map([[0, f.lines]]));
// The steps of each function, in order.
const ofFunction = data.functions.map((_, f) => data.steps.map((s, i) => i).filter(i => data.steps[i].func === f));

function changed(lines, hunks) {
  const out = [];
  let at = 0;
  for (const [start, gone, come] of hunks) {
    for (; at < start; at++) out.push(lines[at]);
    at += gone;
    for (const line of come) out.push(line);
  }
  for (; at < lines.length; at++) out.push(lines[at]);
  return out;
}

// The lines of a function after so many of its own steps.
function linesAfter(f, count) {
  let from = Math.floor(count / EVERY) * EVERY;
  while (!kept[f].has(from)) from -= EVERY;
  let lines = kept[f].get(from);
  for (let n = from; n < count; n++) {
    lines = changed(lines, data.steps[ofFunction[f][n]].hunks);
    if ((n + 1) % EVERY === 0) kept[f].set(n + 1, lines);
  }
  return lines;
}

function hash(lines) {
  let h = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(lines.join('\n'))) h = Math.imul(h ^ byte, 0x01000193);
  return h >>> 0;
}

// Pairs of lines, before and after: [number, text] each, or null where there is none.
function aligned(before, hunks, after) {
  const rows = [];
  let a = 0, b = 0;
  const same = until => { for (; a < until; a++, b++) rows.push({ left: [a, before[a]], right: [b, after[b]], kind: '' }); };
  for (const [start, gone, come] of hunks) {
    same(start);
    for (let i = 0; i < Math.max(gone, come.length); i++) {
      rows.push({ left: i < gone ? [a + i, before[a + i]] : null, right: i < come.length ? [b + i, come[i]] : null, kind: 'changed' });
    }
    a += gone;
    b += come.length;
  }
  same(before.length);
  return rows;
}

// --- Lists of which only what is seen is there ------------------------------------------------------------------------

function list(box, draw) {
  const rows = box.querySelector('.rows');
  let items = [];
  const show = () => {
    const first = Math.max(0, Math.floor(box.scrollTop / ROW) - 20);
    const last = Math.min(items.length, first + Math.ceil((box.clientHeight || 600) / ROW) + 40);
    rows.style.height = items.length * ROW + 'px';
    rows.replaceChildren(...items.slice(first, last).map((item, i) => {
      const row = draw(item, first + i);
      row.style.top = (first + i) * ROW + 'px';
      return row;
    }));
  };
  box.addEventListener('scroll', show);
  new ResizeObserver(show).observe(box);
  return {
    set(all) { items = all; show(); },
    show,
    to(at) {
      const top = at * ROW;
      if (top < box.scrollTop + 2 * ROW || top > box.scrollTop + box.clientHeight - 3 * ROW) box.scrollTop = top - box.clientHeight / 3;
      show();
    },
    get items() { return items; },
  };
}

function el(tag, attrs = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs)) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value); else if (value !== null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

// --- Highlighting ----------------------------------------------------------------------------------------------------

const TOKEN = /(%"(?:[^"\\]|\\.)*"|%[\w.]+)|(@[\w.]+)|("(?:[^"\\]|\\.)*")|(\b(?:func|untyped|entry|reduce|yield|true|false)\b)|(-?\b\d[\w.+-]*)|([a-z_]\w*)/g;

function highlighted(text) {
  const parts = [];
  let at = 0;
  const isOp = new Set(data.ops);
  for (const m of text.matchAll(TOKEN)) {
    parts.push(text.slice(at, m.index));
    at = m.index + m[0].length;
    if (m[1]) parts.push(el('span', { class: 'v' + (state.value === m[1] ? ' lit' : ''), 'data-v': m[1] }, m[1]));
    else if (m[2] || m[3]) parts.push(el('span', { class: 'at' }, m[0]));
    else if (m[4]) parts.push(el('span', { class: 'kw' }, m[0]));
    else if (m[5]) parts.push(el('span', { class: 'num' }, m[0]));
    else if (isOp.has(m[0])) parts.push(el('span', { class: 'op' }, m[0]));
    else parts.push(m[0]);
  }
  parts.push(text.slice(at));
  return parts;
}

const steps = list($('steps'), (i, _) => {
  const step = data.steps[i];
  return el('div', { class: i === state.step ? 'picked' : '', 'data-step': i, onclick: () => pick(i) },
    `${String(i + 1).padStart(4)}  ${step.rewrite}`, el('span', { class: 'faint' }, `  @${data.functions[step.func].name}${step.line ? ' line ' + step.line : ''}`));
});

const code = list($('code'), row => {
  if (row.skipped) return el('div', { class: 'row gap' }, el('span', { class: 'no' }, '…'), el('span', { class: 'cell at' }, `${row.skipped} lines are the same`));
  const cell = (side, kind) => side
    ? [el('span', { class: 'no' }, side[0] + 1), el('span', { class: `cell ${row.kind ? kind : ''} ${/ = arrayexpr /.test(side[1]) ? 'fused' : ''}` }, ...highlighted(side[1]))]
    : [el('span', { class: 'no gap' }), el('span', { class: 'cell gap' })];
  return el('div', { class: 'row' }, ...cell(row.left, 'del'), ...cell(row.right, 'ins'));
});

$('code').addEventListener('click', event => {
  const value = event.target.closest('.v');
  if (value) look(value.dataset.v);
});

// --- One step ----------------------------------------------------------------------------------------------------------

function texts() {
  const step = data.steps[state.step];
  if (!step) return { before: data.functions[0]?.lines ?? [], after: data.functions[0]?.lines ?? [], hunks: [], func: 0 };
  const own = ofFunction[step.func].indexOf(state.step);
  return { before: linesAfter(step.func, own), after: linesAfter(step.func, own + 1), hunks: step.hunks, func: step.func };
}

function only(rows) {
  const near = rows.map((_, i) => rows.slice(Math.max(0, i - 2), i + 3).some(r => r.kind));
  const out = [];
  for (let i = 0; i < rows.length; i++) {
    if (near[i]) out.push(rows[i]);
    else if (out.length && out[out.length - 1].skipped) out[out.length - 1].skipped++;
    else out.push({ skipped: 1 });
  }
  return out;
}

function draw() {
  const step = data.steps[state.step];
  const shown = texts();
  const note = $('note');
  note.replaceChildren();
  if (step) {
    note.append(el('b', {}, `${state.step + 1}: ${step.rewrite}`), ` in @${data.functions[step.func].name}`,
      el('span', { class: 'at' }, `  ${step.origin}${step.micros ? '  ' + step.micros + ' µs' : ''}`));
    for (const remark of step.remarks) note.append(`\n${remark}`);
    if (hash(shown.after) !== step.hash) note.append(el('div', { class: 'error' }, 'This text is not what the compiler had: the page is damaged.'));
  } else note.append('No rewrite was applied.');
  const rows = aligned(shown.before, shown.hunks, shown.after);
  code.set(state.changes ? only(rows) : rows);
  for (const tab of ['code', 'graph', 'kernels']) {
    $(tab).hidden = state.tab !== tab;
    $('tab-' + tab).setAttribute('aria-pressed', state.tab === tab);
  }
  $('changes').setAttribute('aria-pressed', state.changes);
  if (state.tab === 'graph') graph(shown.after);
  uses(shown.after, shown.before);
  steps.show();
}

function pick(i) {
  if (!data.steps.length) return;
  state.step = Math.max(0, Math.min(data.steps.length - 1, i));
  draw();
  steps.to(Math.max(0, steps.items.indexOf(state.step)));
  const first = code.items.findIndex(r => r.kind);
  if (first >= 0) code.to(first);
}

function move(by) {
  const all = steps.items;
  const at = all.indexOf(state.step);
  pick(all[Math.max(0, Math.min(all.length - 1, at < 0 ? 0 : at + by))] ?? state.step);
}

// --- Values ------------------------------------------------------------------------------------------------------------

const names = line => [...line.matchAll(/%"(?:[^"\\]|\\.)*"|%[\w.]+/g)].map(m => m[0]);
const defined = line => {
  if (/^\s*(untyped )?func |^\S.*:\s*$/.test(line)) return names(line);
  const at = line.indexOf(' = ');
  return at < 0 || /^\s+t\d+ = /.test(line) ? [] : names(line.slice(0, at));
};

function look(value) {
  state.value = state.value === value ? null : value;
  draw();
}

// Where a value is after the step; before it, if it is gone.
function uses(after, before) {
  const there = after.some(line => names(line).includes(state.value));
  const [lines, side] = there ? [after, 'right'] : [before, 'left'];
  const box = $('uses');
  box.replaceChildren();
  if (!state.value) return;
  const places = lines.map((line, i) => [line, i]).filter(([line]) => names(line).includes(state.value));
  const def = places.find(([line]) => defined(line).includes(state.value));
  if (!there) box.append(el('div', { class: 'at' }, 'gone after this step; before it:'));
  const link = ([line, i], what) => el('div', {}, el('a', { 'data-line': i + 1, onclick: () => code.to(code.items.findIndex(r => r[side] && r[side][0] === i)) }, `line ${i + 1}`), ` ${what}${line.trim()}`);
  if (def) box.append(link(def, 'defines  '));
  for (const place of places.filter(p => p !== def).slice(0, 50)) box.append(link(place, 'uses  '));
  if (places.length > 51) box.append(el('div', { class: 'at' }, `and ${places.length - 51} more`));
}

// --- Graphs ------------------------------------------------------------------------------------------------------------

const NS = 'http://www.w3.org/2000/svg';
const MOST = 400;

function blocks(lines) {
  const all = [];
  lines.forEach((line, i) => {
    const label = /^(\S+?)(\(.*\))?:\s*$/.exec(line);
    if (label) all.push({ id: label[1], lines: [], first: i });
    else if (all.length && /^\s/.test(line)) all[all.length - 1].lines.push([line, i]);
  });
  const ids = new Set(all.map(b => b.id));
  for (const block of all) {
    const last = [...block.lines].reverse().find(([l]) => /^ {2}\S/.test(l));
    const words = last && /^\s+(jump|br_if|switch) /.test(last[0]) ? last[0].replace(/%"(?:[^"\\]|\\.)*"|%[\w.]+/g, '').match(/"(?:[^"\\]|\\.)*"|[\w.]+/g).slice(1) : [];
    block.to = [...new Set(words.filter(w => ids.has(w)))];
  }
  return all;
}

// Layers by the longest way from a source, each in the order of the mean place of what leads to it.
// (Sugiyama, Tagawa, Toda: Methods for visual understanding of hierarchical system structures, 1981.)
function layout(nodes) {
  const layer = new Map();
  const open = new Set();
  const depth = node => {
    if (layer.has(node)) return layer.get(node);
    if (open.has(node)) return 0;
    open.add(node);
    const d = Math.max(-1, ...node.from.map(depth)) + 1;
    open.delete(node);
    layer.set(node, d);
    return d;
  };
  nodes.forEach(depth);
  const rows = [];
  for (const node of nodes) (rows[layer.get(node)] ??= []).push(node);
  let width = 0, y = 10;
  for (const row of rows) {
    if (!row) continue;
    row.forEach((n, i) => n.want = n.from.length ? n.from.reduce((s, f) => s + (f.x ?? 0) + (f.w ?? 0) / 2, 0) / n.from.length : i * 150);
    row.sort((a, b) => a.want - b.want);
    let x = 10;
    for (const n of row) { n.w = 7 * n.text.length + 16; n.x = Math.max(x, n.want - n.w / 2); n.y = y; x = n.x + n.w + 12; }
    width = Math.max(width, x);
    y += 54;
  }
  return { width: width + 20, height: y + 10 };
}

function svg(nodes, title) {
  const { width, height } = layout(nodes);
  const make = (tag, attrs, parent) => { const n = document.createElementNS(NS, tag); for (const [k, v] of Object.entries(attrs)) n.setAttribute(k, v); parent?.append(n); return n; };
  const root = make('svg', { width, height, 'data-graph': title });
  for (const node of nodes) for (const from of node.from) {
    const [x1, y1, x2, y2] = [from.x + from.w / 2, from.y + 24, node.x + node.w / 2, node.y];
    make('path', { d: `M${x1},${y1} C${x1},${y1 + 18} ${x2},${y2 - 18} ${x2},${y2}` }, root);
  }
  for (const node of nodes) for (const from of node.back) {
    const [x1, y1, x2, y2] = [from.x + from.w, from.y + 12, node.x + node.w, node.y + 12];
    const side = Math.max(x1, x2) + 24;
    make('path', { class: 'back', d: `M${x1},${y1} C${side},${y1} ${side},${y2} ${x2},${y2}` }, root);
  }
  for (const node of nodes) {
    const g = make('g', { class: (node.fused ? 'fused ' : '') + (node.lit ? 'lit' : ''), 'data-node': node.id }, root);
    make('rect', { x: node.x, y: node.y, width: node.w, height: 24 }, g);
    make('text', { x: node.x + 8, y: node.y + 16 }, g).textContent = node.text;
    make('title', {}, g).textContent = node.tip;
    g.addEventListener('click', node.click);
  }
  return root;
}

// The block of the chosen value, or of the first line that the step changed, or the longest one.
function interesting(all) {
  const has = test => all.find(b => b.lines.some(([line, i]) => test(line, i)));
  const hunk = data.steps[state.step]?.hunks.find(([, , come]) => come.length);
  return (state.value && has(line => defined(line).includes(state.value)))
    || (hunk && has((_, i) => i === hunk[0]))
    || all.reduce((most, b) => !most || b.lines.length > most.lines.length ? b : most, null);
}

function graph(lines) {
  const all = blocks(lines);
  const byId = new Map(all.map(b => [b.id, { id: b.id, text: `${b.id} (${b.lines.length})`, tip: b.lines.slice(0, 12).map(l => l[0]).join('\n'), from: [], back: [], click: () => { state.block = b.id; draw(); } }]));
  const place = new Map(all.map((b, i) => [b.id, i]));
  for (const b of all) {
    for (const to of b.to) {
      const [from, node] = [byId.get(b.id), byId.get(to)];
      (place.get(to) > place.get(b.id) ? node.from : node.back).push(from);
    }
  }
  const chosen = all.find(b => b.id === state.block) ?? interesting(all);
  if (chosen) byId.get(chosen.id).lit = true;
  const box = $('graph');
  box.replaceChildren(svg([...byId.values()].slice(0, MOST), 'blocks'));
  if (!chosen) return;
  const nodes = new Map();
  const insts = chosen.lines.filter(([l]) => /^ {2}\S/.test(l));
  for (const [line, i] of insts.slice(0, MOST)) {
    const op = line.replace(/^.*? = /, '').trim().split(/\s/)[0];
    const made = defined(line);
    const node = { id: made[0] ?? 'line ' + (i + 1), text: made.length ? `${made.join(', ')} ${op}` : op, tip: line.trim(), fused: op === 'arrayexpr', lit: made.includes(state.value), from: [], back: [], click: () => look(made[0] ?? null) };
    const read = names(line.slice(line.indexOf(' = ') < 0 ? 0 : line.indexOf(' = ')));
    for (const name of new Set(read)) if (nodes.has(name)) node.from.push(nodes.get(name));
    for (const name of made.length ? made : [node.id]) nodes.set(name, node);
  }
  box.append(el('div', { class: 'at' }, ` Data flow of \`${chosen.id}\`` + (insts.length > MOST ? `, its first ${MOST} of ${insts.length} instructions` : '')), svg([...new Set(nodes.values())], 'values'));
}

// --- Everything ----------------------------------------------------------------------------------------------------------

function filter(text) {
  state.filter = text;
  const wanted = text.toLowerCase();
  const found = data.steps.map((_, i) => i).filter(i => {
    const s = data.steps[i];
    return !wanted || `${i + 1} ${s.rewrite} @${data.functions[s.func].name} ${s.remarks.join(' ')}`.toLowerCase().includes(wanted)
      || s.hunks.some(([, , come]) => come.some(l => l.toLowerCase().includes(wanted)));
  });
  steps.set(found);
  $('count').textContent = `${found.length} of ${data.steps.length}`;
  if (found.length && !found.includes(state.step)) pick(found[0]); else draw();
}

const keys = {
  j: () => move(1), k: () => move(-1), ArrowDown: () => move(1), ArrowUp: () => move(-1), Home: () => pick(steps.items[0]), End: () => pick(steps.items[steps.items.length - 1]),
  '/': () => $('find').focus(), c: () => { state.changes = !state.changes; draw(); },
  1: () => tab('code'), 2: () => tab('graph'), 3: () => tab('kernels'), Escape: () => { state.value = null; document.activeElement.blur(); draw(); },
};
function tab(name) { state.tab = name; draw(); }
document.addEventListener('keydown', event => {
  if (event.target.tagName === 'INPUT' && event.key !== 'Escape' || event.ctrlKey || event.metaKey || event.altKey) return;
  const act = keys[event.key];
  if (act) { act(); event.preventDefault(); }
});
for (const name of ['code', 'graph', 'kernels']) $('tab-' + name).addEventListener('click', () => tab(name));
$('changes').addEventListener('click', keys.c);
$('find').addEventListener('input', event => filter(event.target.value));
const time = micros => micros == null ? '' : `  ${micros < 10 ? micros.toFixed(2) : micros.toFixed(0)} µs at best`;
$('kernels').replaceChildren(
  ...data.kernels.map(k => el('section', {},
    el('h2', {}, k.title, el('span', { class: 'at' }, time(k.micros))), el('p', {}, k.schedule), el('pre', {}, k.text))),
  ...data.notes.map(note => el('p', {}, note)),
  ...(data.kernels.length ? [] : [el('p', {}, 'No kernel.')]));

// A link to a place: #step=3&tab=graph&value=%x&find=mul&changes. Keys can be part of it: &keys=jjk.
const link = new URLSearchParams(location.hash.slice(1));
if (link.get('tab') in { code: 0, graph: 0, kernels: 0 }) state.tab = link.get('tab');
state.changes = link.has('changes');
state.value = link.get('value');
$('find').value = link.get('find') ?? '';
filter($('find').value);
pick((Number(link.get('step')) || (steps.items[0] ?? 0) + 1) - 1);
for (const key of link.get('keys') ?? '') document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
