/**
 * The latest decisions, and why one of them was made.
 *
 * @import { LiveDecision } from '../src/serve/live/live-message.ts'
 * @import { State } from './state.js'
 */
import { h } from 'preact';
import { useRef } from 'preact/hooks';
import { deciderText, Explained, isFiltered } from './explained.js';
import { clock, count, duration, isScoreTie, isTie, shortener } from './format.js';
import { decidedPerSecond, sampledPerSecond } from './state.js';

const LISTED = 12;
/** What fits into a row, and into a line or two of an explanation. */
const NAME_CHARS = 21;
const EXPLAINED_NAME_CHARS = 64;
const MODEL_CHARS = 40;
const OLDER = 'Before the picker started anew:';

/** @param {{ state: State, changed: () => void }} props */
export function Decisions({ state, changed }) {
  const { decisions, selected, paused, picker } = state;
  const nameOf = shortener(state.pool.rows.map(({ id }) => id));
  const sampled = sampling(state);
  const onPause = () => {
    state.paused = !state.paused;
    changed();
  };
  return h(
    'section',
    { class: 'card decisions' },
    h(
      'div',
      { class: 'head' },
      h('h2', null, 'Decisions'),
      h('span', { class: 'hint' }, sampled),
      sampled === '' && h('span', { class: 'note wide' }, '“better”: than the runner-up'),
      h(
        'button',
        { id: 'pause', type: 'button', 'aria-pressed': paused, onClick: onPause },
        'Pause',
      ),
    ),
    picker?.explains === false
      ? h('p', { class: 'hint' }, 'This picker keeps no decisions: --explain-decisions is 0.')
      : h(List, { state, changed, nameOf }),
    decisions.length === 0 && picker?.explains === true
      ? h('p', { class: 'hint' }, 'No decisions yet.')
      : null,
    selected !== undefined &&
      h(Explained, {
        decision: selected,
        nameOf: (/** @type {string} */ id) => ending(nameOf(id), EXPLAINED_NAME_CHARS),
      }),
  );
}

/** @param {State} state */
function sampling(state) {
  if (state.paused) return 'paused';
  if (state.hasKeys) return 'paused while the keys are in it';
  const [some, all] = [sampledPerSecond(state), decidedPerSecond(state)];
  // They are of different seconds, so that more may seem to come here than were decided.
  if (some === undefined || Math.round(some) >= Math.round(all)) return '';
  return `a sample: ${count(some)} of ${count(all)} each second`;
}

/** @param {{ state: State, changed: () => void, nameOf: (id: string) => string }} props */
function List({ state, changed, nameOf }) {
  const list = useRef(/** @type {HTMLUListElement | null} */ (null));
  const { decisions, selected } = state;
  const listed = decisions.slice(0, LISTED);
  const models = new Set(listed.map(({ model }) => model)).size;
  const select = (/** @type {LiveDecision} */ decision) => {
    state.selected = decision;
    state.follows = false;
    changed();
  };
  const chosen = Math.max(
    0,
    listed.findIndex(({ id }) => id === selected?.id),
  );
  return h(
    'ul',
    {
      class: 'list',
      ref: list,
      'aria-label': 'Latest decisions',
      ...listKeys({ state, changed, list, listed, select }),
    },
    listed.flatMap((decision, at) => {
      const isOlder = at > 0 && processOf(decision) !== processOf(listed[at - 1] ?? decision);
      const row = h(
        'li',
        { key: decision.id },
        h(
          'button',
          {
            type: 'button',
            'aria-pressed': decision.id === selected?.id,
            // One stop for all: the arrow keys go on from there.
            tabIndex: at === chosen ? 0 : -1,
            onClick: () => select(decision),
          },
          h('span', { class: 'time' }, clock(decision.wallMs)),
          h('span', { class: 'what' }, whereOf(decision, nameOf)),
          h('span', { class: 'size' }, sizeOf(decision, models > 1)),
          h('span', { class: 'because' }, becauseOf(decision)),
        ),
      );
      return isOlder ? [h('li', { key: processOf(decision), class: 'older' }, OLDER), row] : [row];
    }),
  );
}

/**
 * @param {object} props
 * @param {State} props.state
 * @param {() => void} props.changed
 * @param {{ readonly current: HTMLUListElement | null }} props.list
 * @param {readonly LiveDecision[]} props.listed
 * @param {(decision: LiveDecision) => void} props.select
 */
function listKeys({ state, changed, list, listed, select }) {
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    // The list would move under the keys.
    state.paused = true;
    const at = listed.findIndex(({ id }) => id === state.selected?.id);
    const next = Math.max(0, Math.min(listed.length - 1, at + step));
    const decision = listed[next];
    if (decision === undefined) return;
    select(decision);
    list.current?.querySelectorAll('button')[next]?.focus();
  };
  const setKeys = (/** @type {boolean} */ hasKeys) => {
    if (state.hasKeys === hasKeys) return;
    state.hasKeys = hasKeys;
    changed();
  };
  return {
    onKeyDown,
    // A click focuses, too: then the list goes on.
    onFocusIn: (/** @type {FocusEvent} */ { target }) =>
      setKeys(/** @type {Element} */ (target).matches(':focus-visible')),
    onFocusOut: () => setKeys(false),
  };
}

/** Decisions of one process are numbered. @param {LiveDecision} decision */
function processOf({ id }) {
  return id.slice(0, id.lastIndexOf('-'));
}

/**
 * @param {LiveDecision} decision
 * @param {(id: string) => string} nameOf
 */
function whereOf({ outcome }, nameOf) {
  if (outcome.kind === 'threw') return 'no decision';
  if (['refused', 'rejected', 'expired'].includes(outcome.kind)) return 'refused';
  if (outcome.kind !== 'picked') return 'no endpoint was left';
  // With a space at which no line ends.
  return `→\u00a0${ending(nameOf(outcome.endpoint), NAME_CHARS)}`;
}

/**
 * A name, without its beginning where it has more characters: the ends of names of pods differ, their beginnings do not.
 * @param {string} name
 * @param {number} chars
 */
function ending(name, chars) {
  return name.length > chars ? `…${name.slice(1 - chars)}` : name;
}

/** @param {LiveDecision} decision @param {boolean} withModel */
function sizeOf({ promptTokens, model }, withModel) {
  return `${count(promptTokens)} ${promptTokens === 1 ? 'token' : 'tokens'}${withModel ? `, ${ending(model, MODEL_CHARS)}` : ''}`;
}

/** The main reason in a few words, and who decided, where it is another. @param {LiveDecision} decision */
export function becauseOf({ outcome, profiles, held, besideTrial, leftOut }) {
  const wait = held === undefined ? [] : [`held ${duration(held.ms)}`];
  if (outcome.kind === 'refused') return [...wait, `by ${outcome.refusedBy}`].join(' · ');
  if (outcome.kind === 'rejected') return [...wait, 'by a plugin'].join(' · ');
  if (outcome.kind === 'expired') return [...wait, 'in vain'].join(' · ');
  if (outcome.kind !== 'picked') return [...wait, 'refused'].join(' · ');
  const { decidedBy } = outcome;
  const used = profiles.find(({ profile }) => profile === outcome.profile);
  const runnerUp = used?.runnerUp;
  const by = decidedBy === undefined ? [] : [`by ${deciderText(decidedBy)}`];
  // A scheduler elsewhere gives no scores; a promoted shadow does.
  if (runnerUp !== undefined) return [...wait, lead(runnerUp), ...by].join(' · ');
  if (besideTrial !== undefined) return [...wait, 'a trial', ...by].join(' · ');
  const alone = isFiltered(used) || leftOut ? 'the only one left' : 'the only one';
  return [...wait, ...(decidedBy === undefined ? [alone] : by)].join(' · ');
}

/** @param {NonNullable<LiveDecision['profiles'][number]['runnerUp']>} runnerUp */
function lead({ costs: [cost], scoreBehind }) {
  // Where the runner-up costs less, other scores decided.
  if (cost === undefined || (cost.more < 0 && !isTie(cost.more))) {
    return isScoreTie(scoreBehind) ? 'a tie' : `ahead by ${scoreBehind.toFixed(3)}`;
  }
  return isTie(cost.more) ? 'a tie' : `${duration(cost.more)} better`;
}
