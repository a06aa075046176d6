/**
 * Why one decision was made: a bar for each term of the pick and of the runner-up.
 *
 * @import { LiveDecision, LiveHeld, LiveProfile } from '../src/serve/live/live-message.ts'
 * @import { Term } from './terms.js'
 */
import { h } from 'preact';
import { clock, count, duration, isScoreTie, isTie } from './format.js';
import { leftOutText, othersText } from './left-out.js';
import { reasonsOf, termsOf } from './terms.js';

/**
 * @param {object} props
 * @param {LiveDecision} props.decision
 * @param {(id: string) => string} props.nameOf an endpoint's name without what all names begin with
 */
export function Explained({ decision, nameOf }) {
  const { outcome, profiles } = decision;
  return h(
    'article',
    { class: 'explained', 'aria-label': 'Why this one' },
    h('h3', null, headline(decision, nameOf)),
    h('p', { class: 'reasons' }, reasons(decision)),
    decision.held?.why !== undefined && h('p', { class: 'reasons' }, whyHeld(decision.held.why)),
    h(Facts, { decision, nameOf }),
    profiles.map((profile) =>
      h(Profile, {
        key: profile.profile,
        profile,
        isOnly: profiles.length === 1,
        isUnused: isUnusedPrefill(profile, outcome),
        nameOf,
      }),
    ),
  );
}

/**
 * What is known of the request, and what happened to it.
 *
 * @param {object} props
 * @param {LiveDecision} props.decision
 * @param {(id: string) => string} props.nameOf
 */
function Facts({ decision, nameOf }) {
  const { id, requestId, outcome, held, faults, insteadOf, lostRequests } = decision;
  const name = requestId === '' ? id : requestId;
  return h(
    'dl',
    null,
    h(Fact, { name: 'Request', value: name }),
    h(Fact, {
      name: 'At',
      value: `${clock(decision.wallMs)}, decision ${count(decision.number)}`,
    }),
    h(Fact, { name: 'Out of', value: outOf(decision) }),
    held !== undefined && h(Fact, { name: 'Held', value: heldText(held, nameOf) }),
    decision.expectedTtftMs !== undefined &&
      h(Fact, {
        name: 'First token',
        value: `expected after ${duration(decision.expectedTtftMs)}`,
      }),
    outcome.kind === 'picked' &&
      outcome.prefill !== undefined &&
      h(Fact, { name: 'Prefill', value: `at ${nameOf(outcome.prefill)}` }),
    lostRequests !== undefined &&
      h(Fact, {
        name: 'Lost there',
        value: `${count(lostRequests)} in flight, which are no load`,
      }),
    insteadOf !== undefined && h(Fact, { name: 'In place of', value: insteadOf }),
    faults !== undefined && h(Fact, { name: 'Without', value: faults }),
  );
}

/** How many candidates there were, and why others were none. @param {LiveDecision} decision */
export function outOf({ candidates, besideTrial, leftOut }) {
  const endpoints = `${count(candidates)} ${candidates === 1 ? 'endpoint' : 'endpoints'}`;
  if (leftOut !== undefined) return `${endpoints}; left out: ${leftOutText(leftOut)}`;
  if (besideTrial === undefined) return endpoints;
  const others = besideTrial === 1 ? '1 other' : `${count(besideTrial)} others`;
  return `${endpoints}: the trial of an ejected one, beside ${others}`;
}

/**
 * @param {LiveHeld} held
 * @param {(id: string) => string} nameOf
 */
export function heldText({ ms, endpoint, why }, nameOf) {
  const until = endpoint === undefined ? '' : ` until ${nameOf(endpoint)} could begin it`;
  return `${duration(ms)}${until}${why === undefined ? '' : ' by flow control'}`;
}

/** What flow control says, as sentences. @param {readonly string[]} why */
export function whyHeld(why) {
  return why.map((part) => `${part.charAt(0).toUpperCase()}${part.slice(1)}.`).join(' ');
}

/**
 * Whether this profile picked where to compute the prompt, and it is computed where it is decoded.
 * @param {LiveProfile} profile
 * @param {LiveDecision['outcome']} outcome
 */
function isUnusedPrefill({ profile, filters }, outcome) {
  if (outcome.kind !== 'picked' || outcome.profile === profile) return false;
  return outcome.prefill === undefined && filters.some(({ filter }) => filter === 'prefill-filter');
}

/** See `deciderText` in src/picker/cycles/cycle.ts. @param {string} decidedBy */
export function deciderText(decidedBy) {
  return decidedBy === 'observed' ? 'the observed picker' : decidedBy;
}

/** Whether filters dropped endpoints before the scores. @param {LiveProfile | undefined} profile */
export function isFiltered(profile) {
  return profile?.filters.some(({ dropped }) => dropped > 0) === true;
}

/** @param {LiveDecision} decision @param {(id: string) => string} nameOf */
export function headline({ outcome, profiles, besideTrial, leftOut }, nameOf) {
  if (outcome.kind === 'threw') return 'No decision: the scheduler failed';
  if (outcome.kind === 'refused') return `Refused by the scheduler ${outcome.refusedBy}`;
  if (outcome.kind === 'rejected') return `Refused by a plugin: ${outcome.why}`;
  if (outcome.kind === 'expired' || outcome.kind === 'no-candidates')
    return `Refused: ${outcome.why}`;
  if (outcome.kind === 'screened') return 'Refused: screening left no endpoint';
  if (outcome.kind === 'exhausted') return 'Refused: the filters left no endpoint';
  const used = profiles.find(({ profile }) => profile === outcome.profile);
  const runnerUp = used?.runnerUp;
  const picked = nameOf(outcome.endpoint);
  if (runnerUp === undefined) {
    if (besideTrial !== undefined) return `${picked}: the trial of an ejected endpoint`;
    const { decidedBy } = outcome;
    if (decidedBy !== undefined) return `${picked}: decided by ${deciderText(decidedBy)}`;
    if (isFiltered(used)) return `${picked}: the filters left no other`;
    return `${picked}: ${leftOut === undefined ? 'there was no other' : othersText(leftOut)}`;
  }
  const second = nameOf(runnerUp.endpoint);
  const chance = runnerUp.scoreBehind === 0 ? ': chance decides between equals' : '';
  const [cost] = runnerUp.costs;
  if (cost === undefined) {
    if (isScoreTie(runnerUp.scoreBehind))
      return `${picked} has the same score as ${second}${chance}`;
    return `${picked} is ahead of ${second} by ${runnerUp.scoreBehind.toFixed(4)} in score`;
  }
  const costs = `${picked} costs ${duration(cost.picked)}; ${second} would have cost`;
  if (isTie(cost.more)) return `${costs} the same${chance}`;
  if (cost.more > 0) return `${costs} ${duration(cost.more)} more`;
  // Other terms than the cost decided.
  return `${costs} ${duration(-cost.more)} less, and is behind by ${runnerUp.scoreBehind.toFixed(4)} in score`;
}

/** @param {LiveDecision} decision */
function reasons({ outcome, profiles }) {
  if (outcome.kind !== 'picked') return '';
  const profile = profiles.find(({ profile: name }) => name === outcome.profile);
  return profile === undefined ? '' : reasonsOf(termsOf(profile));
}

/** @param {{ name: string, value: string }} props */
function Fact({ name, value }) {
  return h('div', null, h('dt', null, name), h('dd', null, value));
}

/**
 * @param {object} props
 * @param {LiveProfile} props.profile
 * @param {boolean} props.isOnly
 * @param {boolean} props.isUnused
 * @param {(id: string) => string} props.nameOf
 */
function Profile({ profile, isOnly, isUnused, nameOf }) {
  const { filters, endpoints, runnerUp, notKept } = profile;
  const dropping = filters.filter(({ dropped }) => dropped > 0);
  return h(
    'div',
    { class: 'profile' },
    !isOnly && h('h4', null, `Profile ${profile.profile}`),
    isUnused &&
      h(
        'p',
        { class: 'hint' },
        'Its pick is not used: the prompt is computed where it is decoded.',
      ),
    dropping.length > 0 &&
      h(
        'p',
        { class: 'hint' },
        `Left out: ${dropping.map(({ filter, dropped }) => `${count(dropped)} by ${filter}`).join(', ')}.`,
      ),
    endpoints.length > 0 && h(Bars, { profile, hasOther: runnerUp !== undefined }),
    endpoints.length > 0 && h('h4', null, 'Total score: the highest is picked'),
    h(
      'ol',
      { class: 'ranking', 'aria-label': 'Best endpoints' },
      endpoints.map(({ endpoint, total }) =>
        h(
          'li',
          { key: endpoint },
          h(
            'span',
            { class: 'track', 'aria-hidden': 'true' },
            h('span', {
              class: 'fill',
              style: { width: `${width(total, endpoints[0]?.total ?? 1)}%` },
            }),
          ),
          h('span', { class: 'id', title: endpoint }, nameOf(endpoint)),
          h('span', { class: 'number' }, total.toFixed(3)),
        ),
      ),
    ),
    notKept > 0 && h('p', { class: 'hint' }, `and ${count(notKept)} more`),
  );
}

/** @param {{ profile: LiveProfile, hasOther: boolean }} props */
function Bars({ profile, hasOther }) {
  const terms = termsOf(profile);
  if (terms.length === 0) return null;
  const most = { ms: 0, tokens: 0, '': 0 };
  for (const { unit, picked, runnerUp = 0 } of terms) {
    most[unit] = Math.max(most[unit], Math.abs(picked), Math.abs(runnerUp));
  }
  return h(
    'table',
    { class: 'bars' },
    h(
      'thead',
      null,
      h(
        'tr',
        null,
        h('th', { scope: 'col' }, 'Term'),
        h('th', { scope: 'col' }, h('span', { class: 'key pick' }), 'the pick'),
        hasOther && h('th', { scope: 'col' }, h('span', { class: 'key other' }), 'runner-up'),
      ),
    ),
    h(
      'tbody',
      null,
      terms.map(({ name, about, picked, runnerUp, unit }) =>
        h(
          'tr',
          { key: name, class: name === 'cost' ? 'sum' : '' },
          h('th', { scope: 'row' }, name, h('span', { class: 'meaning' }, about)),
          h('td', null, h(Bar, { value: picked, unit, most: most[unit], tone: 'pick' })),
          runnerUp !== undefined &&
            h('td', null, h(Bar, { value: runnerUp, unit, most: most[unit], tone: 'other' })),
        ),
      ),
    ),
  );
}

/** @param {{ value: number, unit: Term['unit'], most: number, tone: string }} props */
function Bar({ value, unit, most, tone }) {
  const text = { ms: duration(value), tokens: count(value), '': value.toFixed(3) }[unit];
  return h(
    'span',
    { class: `bar ${tone}` },
    h(
      'span',
      { class: 'track', 'aria-hidden': 'true' },
      h('span', { class: 'fill', style: { width: `${width(value, most)}%` } }),
    ),
    h('span', { class: 'number' }, text),
  );
}

/**
 * @param {number} value
 * @param {number} most
 */
function width(value, most) {
  return most <= 0 ? 0 : Math.max(0, Math.min(100, (100 * value) / most));
}
