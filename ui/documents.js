/**
 * What only some pickers have: shadows, a promotion, requests that wait, headroom and replicas.
 * Each part is shown where the picker answers its document with something in it.
 *
 * @import { ShadowStatus } from '../src/shadow/start-shadow.ts'
 * @import { PromotionStatus } from '../src/promotion/promotion.ts'
 * @import { StageHeadroom } from '../src/journal/headroom/headroom-report.ts'
 * @import { ReplicaStatus } from '../src/replicas/replica-status.ts'
 * @import { State } from './state.js'
 */
import { h } from 'preact';
import { clock, count, duration, percent, shortener } from './format.js';
import { Headroom } from './headroom.js';
import { Refused } from './refused.js';
import { Replicas } from './replicas.js';
import { TableCard } from './table-card.js';
import { Waiting } from './waiting.js';

/** @param {{ state: State }} props */
export function Documents({ state: { documents, refused, waiting, pool } }) {
  const shadows = /** @type {{ shadows?: ShadowStatus[] } | undefined} */ (
    documents.get('/debug/shadows')
  )?.shadows;
  const promotion = /** @type {PromotionStatus | undefined} */ (documents.get('/debug/promotion'));
  const headroom = /** @type {{ active: boolean, stages: StageHeadroom[] } | undefined} */ (
    documents.get('/debug/headroom')
  );
  // Without sharing the document says only that.
  const replicas = /** @type {Partial<ReplicaStatus> | undefined} */ (
    documents.get('/debug/replicas')
  );
  return h(
    'div',
    { class: 'parts' },
    waiting !== undefined &&
      h(Waiting, { waiting, nameOf: shortener(pool.rows.map(({ id }) => id)) }),
    refused.length > 0 && h(Refused, { refused }),
    headroom?.active === true && h(Headroom, { stages: headroom.stages }),
    replicas?.peers !== undefined &&
      h(Replicas, { status: /** @type {ReplicaStatus} */ (replicas) }),
    shadows !== undefined && shadows.length > 0 && h(Shadows, { shadows }),
    promotion !== undefined && h(Promotion, { promotion }),
  );
}

/** Not finite before the first prediction. @param {number | undefined} ms */
function laterText(ms) {
  if (ms === undefined || !Number.isFinite(ms)) return '–';
  return ms === 0 ? 'the same' : `${duration(Math.abs(ms))} ${ms < 0 ? 'sooner' : 'later'}`;
}

const SHADOWS_NOTE =
  'First token: how much sooner it would come, as predicted, than where requests went. Observed / predicted: above 1 first tokens come later than predicted. Waiting: records that it has not read yet.';

/** More reasons say no more. */
const REASONS_SHOWN = 4;

/** @param {{ shadows: ShadowStatus[] }} props */
function Shadows({ shadows }) {
  const rows = shadows.map(({ name, running, parity, restarts, dropped, waiting }) => {
    const all = parity?.all;
    const { firstTokens = 0, predictedMs = 0, observedMs = 0 } = all?.calibration ?? {};
    const later = all && (all.shadowTtftMs - all.primaryTtftMs) / all.predicted;
    return [
      running ? name : `${name} (down)`,
      count(all?.decisions ?? 0),
      percent(all && all.decisions > 0 ? all.agreed / all.decisions : null),
      laterText(later),
      firstTokens === 0 ? '–' : (observedMs / predictedMs).toFixed(2),
      `${count(restarts)} / ${count(dropped)} / ${count(waiting)}`,
    ];
  });
  const heads = [
    'Shadow',
    'Decisions',
    'Same endpoint',
    'First token',
    'Observed / predicted',
    'Restarts / dropped / waiting',
  ];
  const notes = [SHADOWS_NOTE, timesNote(shadows), ...shadows.map(undecidedNote)].filter(
    (note) => note !== '',
  );
  return h(
    TableCard,
    { title: 'Shadows', heads, rows },
    notes.map((note) => h('p', { key: note, class: 'hint' }, note)),
  );
}

/**
 * Which requests a scheduler left to the profiles of its shadow, and why; empty where it decides all.
 * `shadow top` has the same in src/shadow/undecided-text.ts.
 * @param {ShadowStatus} shadow
 */
export function undecidedNote({ name, parity }) {
  const { undecided = 0, reasons = {}, trouble } = parity?.replacement ?? {};
  if (undecided === 0) return '';
  const most = Object.entries(reasons).sort(([, a], [, b]) => b - a);
  const why = most.slice(0, REASONS_SHOWN).map(([reason, each]) => `${count(each)} ${reason}`);
  const because = why.length === 0 ? '' : ` (${why.join(', ')})`;
  const now = trouble === undefined ? '' : ` It is not connected: ${trouble}.`;
  const requests = `${count(undecided)} ${undecided === 1 ? 'request' : 'requests'}`;
  return `The scheduler of ${name} left ${requests} to its profiles, which are not compared${because}.${now}`;
}

/**
 * Why some have no time to a first token; empty where all have one.
 * @param {readonly ShadowStatus[]} shadows
 */
export function timesNote(shadows) {
  const without = shadows.filter(
    ({ parity }) => parity && parity.all.decisions > 0 && parity.all.predicted === 0,
  );
  if (without.length === 0) return '';
  const names = without.map(({ name }) => name).join(', ');
  return `Times cannot be predicted for ${names}, without approx-prefix-cache-producer in the configuration.`;
}

/** @param {{ promotion: PromotionStatus }} props */
function Promotion({ promotion }) {
  const { shadow, percent: share, conditions, outcomes, events } = promotion;
  const now =
    shadow === undefined
      ? 'The configuration in charge decides all requests.'
      : `${shadow} decides ${share} % of the requests.`;
  const rows = shadow === undefined ? [] : armRows(shadow, share, outcomes);
  const heads = ['Decided by', 'Requests', 'Failed', 'Aborted', 'Waited', 'First token'];
  return h(
    TableCard,
    { title: 'Promotion', heads, rows },
    h('p', null, `${now} ${ruleText(promotion)}${keepText(promotion)}${leftText(promotion)}`),
    conditions.length > 0 &&
      h(
        'ul',
        { class: 'conditions' },
        conditions.map(({ met, text }) =>
          h('li', { key: text, class: met ? 'met' : '' }, `${met ? 'met' : 'not yet'}: ${text}`),
        ),
      ),
    events.length > 0 && h(Steps, { events }),
  );
}

/**
 * Where nothing is left beside the shadow, it is compared with what failed before it.
 * @param {string} shadow
 * @param {number} share
 * @param {PromotionStatus['outcomes']} outcomes
 */
function armRows(shadow, share, { challenger, incumbent, recent }) {
  const row = (/** @type {string} */ name, /** @type {typeof challenger} */ arm) => [
    name,
    count(arm.requests),
    count(arm.failed),
    count(arm.aborted),
    arm.latency.count === 0 ? '–' : duration(arm.latency.waitedMs),
    arm.latency.count === 0 ? '–' : duration(arm.latency.meanMs),
  ];
  if (share < 100 || incumbent.requests > 0) {
    return [row(shadow, challenger), row('in charge', incumbent)];
  }
  const counts = (/** @type {string} */ name, /** @type {typeof recent.challenger} */ arm) => [
    name,
    count(arm.requests),
    count(arm.failed),
    '–',
    '–',
    '–',
  ];
  return [
    row(shadow, challenger),
    counts('its latest', recent.challenger),
    counts('in charge before', recent.incumbent),
  ];
}

/** @param {PromotionStatus} status */
function ruleText({ automatic, hasRule, ruleEnded, shadow, percent, conditions }) {
  if (!hasRule) return 'No rule was given.';
  const why = ruleEnded === undefined ? '' : ` (${ruleEnded})`;
  if (!automatic) return `The rule has ended${why}, until the picker starts again.`;
  if (shadow === undefined || conditions.length > 0) return 'The rule is active.';
  const fault = percent < 100 ? 'its results get worse' : 'its requests fail more often';
  return `The rule has taken its last step, and demotes it when ${fault}.`;
}

/** Where a scheduler stands in place of the shadow's profiles. @param {PromotionStatus} status */
function leftText({ shadow, outcomes }) {
  if (shadow === undefined) return '';
  const reasons = Object.entries(outcomes.challenger.undecided);
  if (reasons.length === 0) return '';
  const counted = reasons.map(([reason, n]) => `${reason} ${count(n)}`).join(', ');
  return ` Its scheduler left requests to its profiles: ${counted}.`;
}

/** Where nothing more is to come. @param {PromotionStatus} status */
function keepText({ automatic, shadow, percent, conditions }) {
  const isAtItsEnd = percent >= 100 || (automatic && conditions.length === 0);
  if (shadow === undefined || !isAtItsEnd) return '';
  return ' To keep it, write its configuration into the file of --config: a promotion ends with the picker.';
}

const STEPS_SHOWN = 6;

/** The latest steps with their reasons, the newest first. @param {Pick<PromotionStatus, 'events'>} props */
function Steps({ events }) {
  const latest = events.slice(-STEPS_SHOWN).reverse();
  return h(
    'ol',
    { class: 'steps' },
    latest.map(({ wallMs, what, shadow, percent: share, by, why }) =>
      h(
        'li',
        { key: `${wallMs} ${what}`, class: what },
        h('b', null, `${clock(wallMs)} ${shadow} ${what}${share > 0 ? ` to ${share} %` : ''}`),
        ` by ${by}: ${why}`,
      ),
    ),
  );
}
