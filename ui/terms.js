/**
 * The parts that a decision's scores are made of, and what they say in words.
 *
 * @import { LiveProfile } from '../src/serve/live/live-message.ts'
 * @typedef {object} Term
 * @property {string} name
 * @property {string} about what it is, in words
 * @property {number} picked
 * @property {number | undefined} runnerUp undefined where there is none
 * @property {'ms' | 'tokens' | ''} unit
 * @property {boolean} isPart whether it is a part of the cost or of the total score
 * @property {boolean} [isCredit] whether it is taken off the cost
 */
import { count, duration, isNoTime, isTie, words } from './format.js';

/** What the terms of `predicted-cost-scorer` are. docs/explain.md says more. @type {Readonly<Record<string, string>>} */
const ABOUT = {
  cachedTokens: 'of this prompt, expected in its cache',
  overheadMs: 'the network and the API server',
  stepUnderWayMs: 'what is left of the step under way, with the prompts in it',
  queuedPrefillMs: 'prompts that were sent there before, after that step',
  ownPrefillMs: 'this prompt, without its cached part',
  stepsMs: 'until the first token',
  queueingDelayForOthersMs: 'later requests wait longer',
  heldUpMs: 'those under way stand still meanwhile',
  answersMs: 'its answer, and others that it slows down',
  memoryMs: 'the wait for KV memory',
  memoryDelayForOthersMs: 'the memory that it takes from later ones',
  adapterMs: 'the wait for the adapter',
  slotMs: 'the wait until another request has ended there',
  suspectMs: 'added after a recent failure',
  tooLongMs: 'longer than what it takes',
  paidMs: 'time that requests lost because too few endpoints hold their beginning',
  stale: 'the last sample is too old',
  costMs: 'all times together',
};
/** Names of terms that are no nouns, as a sentence has them: “It saves 25 ms of …”. @type {Readonly<Record<string, string>>} */
const NAMES = {
  heldUpMs: 'answers held up',
  memoryMs: 'wait for memory',
  memoryDelayForOthersMs: 'wait of others for memory',
  adapterMs: 'wait for the adapter',
  slotMs: 'wait for the end of another request',
  suspectMs: 'doubt after a failure',
  tooLongMs: 'refusal as too long',
  paidMs: 'credit for a new copy',
};
const CREDIT = 'paidMs';
const SUM = 'costMs';
/** A difference below this part of the whole explains nothing. */
const SHOWN_SHARE = 0.1;
const SHOWN_MAX = 2;

/**
 * The terms of scorers that explain themselves, else the weighted scores; without those that are shown as 0
 * for both.
 * @param {LiveProfile} profile
 * @returns {Term[]}
 */
export function termsOf({ scorers, endpoints, runnerUp: second }) {
  const pick = endpoints[0];
  const runnerUp = endpoints.find(({ endpoint }) => endpoint === second?.endpoint);
  const terms = scorers.flatMap(({ scorer, weight, terms: names }, at) => {
    if (names.length > 0) {
      return names.map((name, place) => ({
        name: NAMES[name] ?? words(name),
        about: ABOUT[name] ?? '',
        picked: pick?.terms[at]?.[place] ?? 0,
        runnerUp: runnerUp === undefined ? undefined : (runnerUp.terms[at]?.[place] ?? 0),
        unit: unitOf(name),
        isPart: name !== SUM && name.endsWith('Ms'),
        isCredit: name === CREDIT,
      }));
    }
    const scored = (/** @type {typeof pick} */ each) => weight * (each?.scores[at] ?? 0);
    const score = {
      name: weight === 1 ? scorer : `${scorer} × ${weight}`,
      about: '',
      picked: scored(pick),
      runnerUp: runnerUp === undefined ? undefined : scored(runnerUp),
      unit: /** @type {const} */ (''),
      isPart: true,
      isCredit: false,
    };
    return [score];
  });
  return terms.filter(
    ({ picked, runnerUp: other = 0, unit }) => isShown(picked, unit) || isShown(other, unit),
  );
}

/** Whether it is shown as another number than 0. @param {number} value @param {Term['unit']} unit */
function isShown(value, unit) {
  return unit === 'ms' ? !isNoTime(value) : value !== 0;
}

/**
 * In plain words what made the pick better than the runner-up: its cached tokens, and the terms in which the
 * two differ most. Empty where there is no runner-up.
 * @param {readonly Term[]} terms
 * @returns {string}
 */
export function reasonsOf(terms) {
  const both = terms.filter(({ runnerUp }) => runnerUp !== undefined);
  const cached = both.find(({ unit }) => unit === 'tokens');
  const old = both.find(({ name, picked, runnerUp }) => name === 'stale' && picked !== runnerUp);
  const parts = both
    .filter(({ isPart }) => isPart)
    .map((term) => ({ ...term, gain: gainOf(term) }));
  const whole = parts.reduce((sum, { gain }) => sum + Math.abs(gain), 0);
  const shown = parts
    .filter(
      ({ gain, unit }) => Math.abs(gain) > SHOWN_SHARE * whole && !(unit === 'ms' && isTie(gain)),
    )
    .sort((a, b) => Math.abs(b.gain) - Math.abs(a.gain))
    .slice(0, SHOWN_MAX);
  const credit = shown.find(({ isCredit }) => isCredit);
  const times = shown.filter(({ isCredit, unit }) => unit === 'ms' && !isCredit);
  return [
    ...(cached === undefined ? [] : [cacheText(cached)]),
    ...(old === undefined
      ? []
      : [`The last sample of the ${old.picked > 0 ? 'pick' : 'runner-up'} is too old.`]),
    ...sentence(
      'It saves',
      times.filter(({ gain }) => gain > 0),
    ),
    ...sentence(
      'It takes more:',
      times.filter(({ gain }) => gain < 0),
    ),
    ...(credit === undefined ? [] : [creditText(credit)]),
    ...sentence(
      'It is ahead by',
      shown.filter(({ gain, unit }) => unit === '' && gain > 0),
    ),
    ...sentence(
      'It is behind by',
      shown.filter(({ gain, unit }) => unit === '' && gain < 0),
    ),
  ].join(' ');
}

/** The time that a new copy of the prompt's beginning has earned. @param {Term & { gain: number }} term */
function creditText({ gain }) {
  const whose = gain > 0 ? 'It' : 'The runner-up';
  return `${whose} has a credit of ${duration(Math.abs(gain))} for a new copy: requests have lost this time because too few endpoints hold their beginning.`;
}

/** By how much the pick is better in one term. @param {Term} term */
function gainOf({ picked, runnerUp = 0, unit }) {
  return unit === 'ms' ? runnerUp - picked : picked - runnerUp;
}

/** @param {Term} term */
function cacheText({ picked, runnerUp = 0 }) {
  const tokens = (/** @type {number} */ value) => (value === 0 ? 'none' : count(value));
  if (picked === runnerUp) return `Both hold ${tokens(picked)} of its prompt tokens.`;
  return `It holds ${tokens(picked)} of the prompt tokens, the runner-up ${tokens(runnerUp)}.`;
}

/**
 * @param {string} start
 * @param {readonly (Term & { gain: number })[]} shown
 */
function sentence(start, shown) {
  if (shown.length === 0) return [];
  const parts = shown.map(({ name, gain, unit }) =>
    unit === 'ms'
      ? `${duration(Math.abs(gain))} of ${name}`
      : `${name} (${Math.abs(gain).toFixed(3)})`,
  );
  return [`${start} ${parts.join(' and ')}.`];
}

/**
 * @param {string} name
 * @returns {Term['unit']}
 */
function unitOf(name) {
  if (name.endsWith('Ms')) return 'ms';
  return name.endsWith('Tokens') ? 'tokens' : '';
}
