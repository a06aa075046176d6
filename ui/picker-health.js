/**
 * Whether the page has a connection, and what the picker says of itself: as `/readyz` does.
 *
 * @import { State } from './state.js'
 */
import { h } from 'preact';
import { withLocalTimes } from './format.js';

const CONNECTION_WORDS = {
  connecting: 'connecting',
  live: 'live',
  lost: 'connection lost, trying again',
  token: 'token needed',
  refused: 'refused',
};

/** @typedef {Pick<State, 'connection' | 'health'>} Shown */

/** What is known of a picker whose connection is lost is from before. @param {Shown} shown */
function hasTrouble({ connection, health }) {
  return connection === 'live' && health.state !== 'ready';
}

/**
 * What decides, and for which pool: a shadow that is promoted stands beside the configuration in charge.
 * @param {Pick<State, 'picker' | 'promoted'>} state
 */
export function aboutText({ picker, promoted }) {
  const named = [
    ['pool', picker?.pool],
    ['configuration', picker?.policy],
  ].flatMap(([what, name]) => (name ? [`${what} ${name}`] : []));
  const decides =
    promoted === undefined ? [] : [`${promoted.shadow} decides ${promoted.percent} %`];
  return [...named, ...decides].join(' · ');
}

/** @param {Shown} shown */
export function connectionWords(shown) {
  const words = CONNECTION_WORDS[shown.connection];
  return hasTrouble(shown) ? `${words}, ${shown.health.state}` : words;
}

/** @param {Shown} shown */
export function connectionClass(shown) {
  return `connection ${shown.connection}${hasTrouble(shown) ? ` ${classOf(shown)}` : ''}`;
}

/** @param {Shown} shown */
function classOf({ health }) {
  return health.state.replace(' ', '-');
}

/** The reasons in one sentence; empty for none. @param {Shown} shown */
export function healthSentence(shown) {
  if (!hasTrouble(shown)) return '';
  const { state, reasons } = shown.health;
  return withLocalTimes(`The picker is ${state}: ${reasons.join('; ')}.`, Date.now());
}

/**
 * It has no role that a screen reader speaks: a number in a reason may change each second.
 * @param {{ state: State }} props
 */
export function HealthNotice({ state }) {
  const sentence = healthSentence(state);
  return sentence && h('p', { class: `notice ${classOf(state)}` }, sentence);
}
