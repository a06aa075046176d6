/**
 * Why one decision was made: a bar for each term of the pick and of the runner-up.
 *
 * @import { LiveDecision, LiveProfile } from '../src/serve/live/live-message.ts'
 * @typedef {{ name: string, picked: number, runnerUp: number | undefined, unit: 'ms' | 'tokens' | '' }} Term
 */
import { h } from 'preact';
import { clock, count, duration, isTie, words } from './format.js';

/** @param {{ decision: LiveDecision }} props */
export function Explained({ decision }) {
  const { id, requestId, outcome, candidates, profiles, held, faults, insteadOf } = decision;
  const name = requestId === '' ? id : requestId;
  return h(
    'article',
    { class: 'explained', 'aria-label': 'Why this one' },
    h('h3', null, headline(decision)),
    h(
      'dl',
      null,
      h(Fact, { name: 'Request', value: name }),
      h(Fact, {
        name: 'At',
        value: `${clock(decision.wallMs)}, decision ${count(decision.number)}`,
      }),
      h(Fact, { name: 'Out of', value: `${count(candidates)} endpoints` }),
      held !== undefined &&
        h(Fact, {
          name: 'Held',
          value: `${duration(held.ms)}${held.endpoint === undefined ? '' : ` until ${held.endpoint} could begin it`}`,
        }),
      decision.expectedTtftMs !== undefined &&
        h(Fact, {
          name: 'First token',
          value: `expected after ${duration(decision.expectedTtftMs)}`,
        }),
      outcome.kind === 'picked' &&
        outcome.prefill !== undefined &&
        h(Fact, { name: 'Prefill', value: `at ${outcome.prefill}` }),
      insteadOf !== undefined && h(Fact, { name: 'In place of', value: insteadOf }),
      faults !== undefined && h(Fact, { name: 'Without', value: faults }),
    ),
    profiles.map((profile) =>
      h(Profile, { key: profile.profile, profile, isOnly: profiles.length === 1 }),
    ),
  );
}

/** @param {LiveDecision} decision */
function headline({ outcome, profiles }) {
  if (outcome.kind === 'threw') return 'No decision: the scheduler failed';
  if (outcome.kind === 'exhausted') return 'Refused: the filters left no endpoint';
  const { runnerUp } = profiles.find(({ profile }) => profile === outcome.profile) ?? {};
  if (runnerUp === undefined) return `${outcome.endpoint}: there was no other`;
  const [cost] = runnerUp.costs;
  if (cost === undefined) {
    return `${outcome.endpoint} is ahead of ${runnerUp.endpoint} by ${runnerUp.scoreBehind.toFixed(4)}`;
  }
  const more = isTie(cost.more) ? 'the same' : `${duration(cost.more)} more`;
  return `${outcome.endpoint} costs ${duration(cost.picked)}; ${runnerUp.endpoint} would have cost ${more}`;
}

/** @param {{ name: string, value: string }} props */
function Fact({ name, value }) {
  return h('div', null, h('dt', null, name), h('dd', null, value));
}

/** @param {{ profile: LiveProfile, isOnly: boolean }} props */
function Profile({ profile, isOnly }) {
  const { filters, endpoints, runnerUp, notKept } = profile;
  const dropping = filters.filter(({ dropped }) => dropped > 0);
  return h(
    'div',
    { class: 'profile' },
    !isOnly && h('h4', null, `Profile ${profile.profile}`),
    dropping.length > 0 &&
      h(
        'p',
        { class: 'hint' },
        `Left out: ${dropping.map(({ filter, dropped }) => `${count(dropped)} by ${filter}`).join(', ')}.`,
      ),
    endpoints.length > 0 && h(Bars, { profile, other: runnerUp?.endpoint }),
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
          h('span', { class: 'id' }, endpoint),
          h('span', { class: 'number' }, total.toFixed(3)),
        ),
      ),
    ),
    notKept > 0 && h('p', { class: 'hint' }, `and ${count(notKept)} with lower scores`),
  );
}

/** @param {{ profile: LiveProfile, other: string | undefined }} props */
function Bars({ profile, other }) {
  const terms = termsOf(profile, other);
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
        h(
          'th',
          { scope: 'col' },
          h('span', { class: 'key other' }),
          other === undefined ? '' : 'runner-up',
        ),
      ),
    ),
    h(
      'tbody',
      null,
      terms.map(({ name, picked, runnerUp, unit }) =>
        h(
          'tr',
          { key: name, class: name === 'cost' ? 'sum' : '' },
          h('th', { scope: 'row' }, name),
          h('td', null, h(Bar, { value: picked, unit, most: most[unit], tone: 'pick' })),
          h(
            'td',
            null,
            runnerUp !== undefined &&
              h(Bar, { value: runnerUp, unit, most: most[unit], tone: 'other' }),
          ),
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

/**
 * The terms of scorers that explain themselves, else the weighted scores; without those that are 0
 * for both.
 * @param {LiveProfile} profile
 * @param {string | undefined} other
 * @returns {Term[]}
 */
function termsOf({ scorers, endpoints }, other) {
  const pick = endpoints[0];
  const runnerUp = endpoints.find(({ endpoint }) => endpoint === other);
  const terms = scorers.flatMap(({ scorer, weight, terms: names }, at) => {
    if (names.length > 0) {
      return names.map((name, place) => ({
        name: words(name),
        picked: pick?.terms[at]?.[place] ?? 0,
        runnerUp: runnerUp === undefined ? undefined : (runnerUp.terms[at]?.[place] ?? 0),
        unit: unitOf(name),
      }));
    }
    const scored = (/** @type {typeof pick} */ each) => weight * (each?.scores[at] ?? 0);
    const name = weight === 1 ? scorer : `${scorer} × ${weight}`;
    const second = runnerUp === undefined ? undefined : scored(runnerUp);
    return [{ name, picked: scored(pick), runnerUp: second, unit: /** @type {const} */ ('') }];
  });
  return terms.filter(({ picked, runnerUp: second = 0 }) => picked !== 0 || second !== 0);
}

/**
 * @param {string} name
 * @returns {Term['unit']}
 */
function unitOf(name) {
  if (name.endsWith('Ms')) return 'ms';
  return name.endsWith('Tokens') ? 'tokens' : '';
}
