/**
 * The page: what is live at the top, then the pool beside the decisions, then what only some
 * pickers have.
 *
 * @import { PickerConnection } from './connection.js'
 * @import { State } from './state.js'
 * @import { LiveStep } from '../src/serve/live/live-message.ts'
 */
import { h } from 'preact';
import { useEffect } from 'preact/hooks';
import { RequestsChart, TtftChart } from './charts.js';
import { Decisions } from './decisions.js';
import { Documents } from './documents.js';
import { clock, count, duration, rate } from './format.js';
import { aboutText, connectionClass, connectionWords, HealthNotice } from './picker-health.js';
import { PoolTable } from './pool-table.js';
import { decidedPerSecond, followLatest } from './state.js';

/**
 * @typedef {object} PageProps
 * @property {PickerConnection} connection
 * @property {State} state
 * @property {() => void} changed
 */

/** @param {PageProps} props */
export function App({ connection, state, changed }) {
  useKeys(state, changed);
  const isReady = state.totals !== undefined;
  return h(
    'div',
    { class: 'page' },
    h(Header, { state }),
    h(Notice, { connection, state }),
    isReady &&
      h(
        'main',
        null,
        h(HealthNotice, { state }),
        h(Tiles, { state }),
        h('div', { class: 'charts' }, h(RequestsChart, { state }), h(TtftChart, { state })),
        h(
          'div',
          { class: 'columns' },
          h('div', { class: 'left' }, h(PoolTable, { state, changed }), h(Documents, { state })),
          h(Decisions, { state, changed }),
        ),
      ),
    h(Footer, { state }),
  );
}

/**
 * @param {State} state
 * @param {() => void} changed
 */
function useKeys(state, changed) {
  useEffect(() => {
    const onKey = (/** @type {KeyboardEvent} */ event) => {
      const isTyping = event.target instanceof HTMLInputElement;
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === '/') {
        event.preventDefault();
        /** @type {HTMLElement | null} */ (document.querySelector('#filter'))?.focus();
      }
      if (event.key === 'p') {
        state.paused = !state.paused;
        changed();
      }
      if (event.key === 'Escape') {
        // Out of the list, which would move under the keys.
        if (state.hasKeys)
          /** @type {HTMLElement | null} */ (document.querySelector('#pause'))?.focus();
        followLatest(state);
        changed();
      }
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}

/** @param {{ state: State }} props */
function Header({ state }) {
  return h(
    'header',
    { class: 'top' },
    h('h1', null, 'Pointsman'),
    h('span', { class: 'about' }, aboutText(state)),
    h(
      'span',
      { class: connectionClass(state), role: 'status' },
      h('span', { class: 'dot', 'aria-hidden': 'true' }),
      connectionWords(state),
    ),
  );
}

/** @param {{ connection: PickerConnection, state: State }} props */
function Notice({ connection, state }) {
  if (state.connection === 'live' || state.connection === 'connecting') return null;
  if (state.connection === 'token') return h(TokenForm, { connection, reason: state.reason });
  const old = state.totals === undefined ? '' : ' What is shown is from before.';
  return h('p', { class: 'notice', role: 'alert' }, `${sentence(state.reason)}.${old}`);
}

/** @param {string} text */
function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** How other clients give the token: the form does it for who reads this. */
const HEADER = ', as Authorization: Bearer …';

/** @param {{ connection: PickerConnection, reason: string }} props */
function TokenForm({ connection, reason }) {
  const onSubmit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    const token = new FormData(form).get('token');
    if (typeof token === 'string') connection.useToken(token);
  };
  return h(
    'form',
    { class: 'notice', onSubmit },
    h('label', { for: 'token' }, `${sentence(reason.replace(HEADER, ''))}.`),
    h('input', { id: 'token', name: 'token', type: 'password', autocomplete: 'off' }),
    h('button', { type: 'submit' }, 'Use this token'),
  );
}

/** @param {{ state: State }} props */
function Tiles({ state }) {
  const { totals, steps, pool, picker } = state;
  const last = steps.at(-1);
  const seconds = (picker?.stepMs ?? 1000) / 1000;
  const answered = steps.findLast(({ ttftMs }) => ttftMs !== null);
  const troubled = pool.rows.filter((row) => row.state !== 'ok').length;
  const refused = (last?.refused ?? 0) / seconds;
  const failed = (last?.failed ?? 0) / seconds;
  return h(
    'ul',
    { class: 'tiles', 'aria-label': 'Now' },
    h(Tile, {
      name: 'Decisions',
      value: `${rate(decidedPerSecond(state))}/s`,
      note: refused > 0 ? `${rate(refused)}/s refused` : 'none refused',
      tone: refused > 0 ? 'bad' : '',
    }),
    h(Tile, {
      name: 'In flight',
      value: count(totals?.inFlight ?? 0),
      note: failed > 0 ? `${rate(failed)}/s failed at servers` : 'sent and not ended',
      tone: failed > 0 ? 'bad' : '',
    }),
    h(Tile, { name: 'Waiting', value: count(totals?.waiting ?? 0), note: 'at the picker' }),
    h(Tile, {
      name: 'First token',
      ...firstTokenOf(answered, last?.wallMs ?? 0),
    }),
    h(Tile, {
      name: 'Endpoints',
      value: count(totals?.endpoints ?? 0),
      ...healthOf(totals?.endpoints ?? 0, troubled),
    }),
  );
}

/** @param {number} endpoints @param {number} troubled */
function healthOf(endpoints, troubled) {
  if (endpoints === 0) return { note: 'no model server', tone: 'bad' };
  if (troubled === 0) return { note: 'all well', tone: '' };
  return { note: `${count(troubled)} with trouble`, tone: 'bad' };
}

/** Longer ago, a first token says nothing about now. */
const ANSWERED_MS_MAX = 10_000;

/**
 * @param {LiveStep | undefined} step the latest one with a first token
 * @param {number} nowMs
 */
function firstTokenOf(step, nowMs) {
  const ttft = step?.ttftMs;
  if (!step || !ttft) return { value: '–', note: 'no streamed answers yet' };
  const old = nowMs - step.wallMs > ANSWERED_MS_MAX;
  return old
    ? { value: '–', note: `${duration(ttft.median)} at ${clock(step.wallMs)}` }
    : { value: duration(ttft.median), note: `predicted ${duration(ttft.predictedMedian)}` };
}

/** @param {{ name: string, value: string, note: string, tone?: string }} props */
function Tile({ name, value, note, tone = '' }) {
  return h(
    'li',
    { class: 'tile' },
    h('span', { class: 'name' }, name),
    h('span', { class: 'value' }, value),
    h('span', { class: `note ${tone}` }, note),
  );
}

/** @param {{ state: State }} props */
function Footer({ state: { picker, totals } }) {
  const viewers = totals === undefined || totals.viewers < 2 ? '' : ` · ${totals.viewers} viewers`;
  return h(
    'footer',
    null,
    h('span', null, picker === undefined ? '' : `Pointsman ${picker.version}${viewers}`),
    h(
      'span',
      { class: 'keys' },
      h('kbd', null, '/'),
      ' filter · ',
      h('kbd', null, 'p'),
      ' pause · ',
      h('kbd', null, '↑'),
      h('kbd', null, '↓'),
      ' decisions · ',
      h('kbd', null, 'Esc'),
      ' latest',
    ),
  );
}
