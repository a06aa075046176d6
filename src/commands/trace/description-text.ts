import { textTable } from '../../framework/values/text-table.ts';
import { describeReading, rateText, requestsText, spanText } from '../../lab/traces/trace.ts';
import type { Counted, TraceDescription } from './describe-trace.ts';
import type { Spread } from './spread.ts';

/** Names in a line; a trace may have thousands. */
const NAMES_MAX = 5;

/** A description for a person. */
export function descriptionText(description: TraceDescription): string {
  const { promptTokens, outputTokens, sessions, ttftMs, e2eMs } = description;
  const rows = [
    rowOf('prompt tokens', promptTokens),
    rowOf('answer tokens', outputTokens),
    rowOf('requests of a session', sessions?.turns),
    rowOf('ms to the first token, as recorded', ttftMs),
    rowOf('ms to the end, as recorded', e2eMs),
  ].filter((row) => row !== undefined);
  const head = ['', 'mean', 'least', 'median', '90 %', '99 %', 'most'];
  const lines = [
    ...describeReading(description),
    '',
    ...textTable([head, ...rows], 1),
    '',
    arrivalsLine(description),
    prefixesLine(description),
    sessionsLine(description),
    ...countedLines(description),
  ];
  return `${lines.join('\n')}\n`;
}

function rowOf(name: string, spread: Spread | undefined): readonly string[] | undefined {
  if (spread === undefined) return undefined;
  const { mean, min, p50, p90, p99, max } = spread;
  return [name, meanText(mean), ...[min, p50, p90, p99, max].map(countText)];
}

function arrivalsLine({ arrivals }: TraceDescription): string {
  if (arrivals === undefined) return 'arrivals: all at once';
  const { mostInASecond, mostInAMinute, emptySeconds, longestPauseMs, longestPauseAtMs } = arrivals;
  const minute = mostInAMinute === undefined ? '' : ` and ${countText(mostInAMinute)} in a minute`;
  return [
    `arrivals: at most ${countText(mostInASecond)} in a second${minute}`,
    `none in ${shareText(emptySeconds)} of the seconds`,
    `the longest pause is ${spanText(longestPauseMs)}, ${spanText(longestPauseAtMs)} after the first`,
  ].join('; ');
}

function prefixesLine({ prefixes }: TraceDescription): string {
  if (prefixes === undefined)
    return 'shared prefixes: the trace has none, so prompts share nothing';
  const { blockTokens, sharedTokens, sharingRequests, distinctTokens } = prefixes;
  return [
    `shared prefixes: ${shareText(sharedTokens)} of the prompt tokens, in ${shareText(sharingRequests)} of the requests, begin an earlier prompt to the same model`,
    `a cache that is to hold all of them needs room for ${countText(distinctTokens)} tokens (blocks of ${countText(blockTokens)})`,
  ].join('; ');
}

function sessionsLine({ sessions }: TraceDescription): string {
  if (sessions === undefined) return 'sessions: the trace names none';
  const { by, count, ofSeveral } = sessions;
  const how = by === 'trace' ? '' : ' (a prompt that continues an earlier one is its next turn)';
  return `sessions: ${countText(count)}, of which ${countText(ofSeveral)} have several requests${how}`;
}

function countedLines(description: TraceDescription): readonly string[] {
  const { models, priorities, fairnessIds, outcomes, requests } = description;
  const ends = Object.entries(outcomes).map(([name, count]) => ({ name, requests: count }));
  const lists: readonly (readonly [string, readonly Counted[]])[] = [
    ['models', models],
    ['priorities', priorities],
    ['fairness ids', fairnessIds],
    ['outcomes', ends],
  ];
  return lists
    .filter(([, counted]) => counted.length > 0)
    .map(([name, counted]) => `${name}: ${namesText(counted, requests)}`);
}

function namesText(counted: readonly Counted[], all: number): string {
  const named = counted.reduce((sum, { requests }) => sum + requests, 0);
  const shown = counted
    .slice(0, NAMES_MAX)
    .map(({ name, requests }) => `${name} (${countText(requests)}, ${shareText(requests / all)})`);
  const more = counted.length - shown.length;
  const without = all - named;
  return [
    ...shown,
    ...(more > 0 ? [`and ${countText(more)} more`] : []),
    ...(without > 0 ? [`${requestsText(without)} without`] : []),
  ].join(', ');
}

function countText(value: number): string {
  return Math.round(value).toLocaleString('en');
}

function meanText(value: number): string {
  return value < 100 ? rateText(value) : countText(value);
}

function shareText(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
