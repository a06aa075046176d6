/**
 * What the page shows. Messages and actions change it in place, and every change draws the page
 * anew, at most once a frame.
 *
 * @import {
 *   LiveDecision, LiveHealth, LiveMessage, LivePicker, LivePool, LiveRefusal, LiveStep, LiveTotals
 * } from '../src/serve/live/live-message.ts'
 */

const STEPS_MAX = 300;
const DECISIONS_MAX = 200;
/** In ten minutes more say no more: the picker starts again and again. */
const RESTARTS_MAX = 20;
/** Over so many messages the rate of decisions is taken. */
const RATE_MESSAGES = 5;

/**
 * @typedef {'connecting' | 'live' | 'lost' | 'token' | 'refused'} Connection
 *
 * @typedef {object} State
 * @property {Connection} connection
 * @property {string} reason why it is not live
 * @property {LivePicker | undefined} picker
 * @property {LiveTotals | undefined} totals
 * @property {LiveHealth} health
 * @property {LiveStep[]} steps
 * @property {number[]} restarts when other processes of the picker began, in milliseconds since the epoch
 * @property {LivePool} pool
 * @property {readonly LiveRefusal[]} refused by flow control, the latest first
 * @property {LiveMessage['waiting']} waiting what waits at the picker
 * @property {Map<string, readonly string[]>} labels by endpoint
 * @property {LiveDecision[]} decisions that are listed, latest first
 * @property {LiveDecision[]} unlisted those that came while the list stood still, latest first
 * @property {LiveMessage['promoted']} promoted the shadow that decides a part of the requests or all
 * @property {{ made: number, shown: number, seconds: number }[]} paces of the latest messages
 * @property {number} toldMs when the last message was made, in milliseconds since the epoch
 * @property {LiveDecision | undefined} selected
 * @property {boolean} follows whether the latest decision is selected
 * @property {boolean} paused whether the list of decisions stands still
 * @property {boolean} hasKeys whether the keys are in that list, which stands still then, too
 * @property {Map<string, unknown>} documents by path
 * @property {{ text: string, sort: string, down: boolean, page: number, labels: boolean }} table
 */

/** @returns {State} */
export function emptyState() {
  return {
    connection: 'connecting',
    reason: '',
    picker: undefined,
    totals: undefined,
    health: { state: 'ready', reasons: [] },
    promoted: undefined,
    steps: [],
    restarts: [],
    pool: { rows: [], notShown: 0 },
    refused: [],
    waiting: undefined,
    labels: new Map(),
    decisions: [],
    unlisted: [],
    paces: [],
    toldMs: 0,
    selected: undefined,
    follows: true,
    paused: false,
    hasKeys: false,
    documents: new Map(),
    table: { text: '', sort: 'state', down: true, page: 0, labels: false },
  };
}

/**
 * @param {State} state
 * @param {LiveMessage} message
 */
export function receive(state, message) {
  const { picker, totals, health, steps, pool, decisions, refused = [], wallMs } = message;
  if (picker !== undefined) {
    // Perhaps another process: its steps follow those that were seen of the one before.
    const first = steps[0]?.wallMs ?? wallMs;
    state.steps = state.steps.filter((step) => step.wallMs < first);
    const isOther = state.picker !== undefined && state.picker.startedMs !== picker.startedMs;
    if (isOther) state.restarts = [...state.restarts, picker.startedMs].slice(-RESTARTS_MAX);
    state.picker = picker;
    state.paces = [];
    state.documents = new Map();
  }
  state.totals = totals;
  state.health = health;
  state.promoted = message.promoted;
  state.refused = refused;
  state.waiting = message.waiting;
  // A viewer that has just come may get a step twice.
  const last = (state.steps.at(-1)?.wallMs ?? 0) + (state.picker?.stepMs ?? 0) / 2;
  const news = steps.filter((step) => step.wallMs > last);
  state.steps = [...state.steps, ...news].slice(-STEPS_MAX);
  if (pool !== undefined) receivePool(state, pool);
  if (picker === undefined) {
    // A picker with too much to do sends messages later than each second.
    const seconds = (wallMs - state.toldMs) / 1000;
    const pace = { made: decisions.made, shown: decisions.shown.length, seconds };
    state.paces = [...state.paces, pace].slice(-RATE_MESSAGES);
  }
  state.toldMs = wallMs;
  const known = new Set([...state.unlisted, ...state.decisions].map(({ id }) => id));
  const unknown = decisions.shown.filter(({ id }) => !known.has(id));
  state.unlisted = [...unknown, ...state.unlisted].slice(0, DECISIONS_MAX);
  list(state);
}

/** Lists what has come, unless the list stands still. @param {State} state */
function list(state) {
  if (state.paused || state.hasKeys) return;
  state.decisions = [...state.unlisted, ...state.decisions].slice(0, DECISIONS_MAX);
  state.unlisted = [];
  if (state.follows) state.selected = state.decisions[0];
}

/** Lets the list of decisions go on, with the latest one explained. @param {State} state */
export function followLatest(state) {
  state.paused = false;
  state.follows = true;
  list(state);
}

/**
 * @param {State} state
 * @param {LivePool} pool
 */
function receivePool(state, pool) {
  state.pool = pool;
  if (!pool.rows.some(({ labels }) => labels !== undefined)) return;
  state.labels = new Map(pool.rows.map(({ id, labels }) => [id, labels ?? []]));
}

/** Decisions each second in the latest step, as the chart shows them. @param {State} state */
export function decidedPerSecond({ steps, picker }) {
  return (1000 * (steps.at(-1)?.picked ?? 0)) / (picker?.stepMs ?? 1000);
}

/**
 * How many decisions a second came here of late; undefined where none was left out.
 * @param {State} state
 */
export function sampledPerSecond({ paces }) {
  const made = paces.reduce((sum, each) => sum + each.made, 0);
  const shown = paces.reduce((sum, each) => sum + each.shown, 0);
  const seconds = paces.reduce((sum, each) => sum + each.seconds, 0);
  return made <= shown || seconds <= 0 ? undefined : shown / seconds;
}
