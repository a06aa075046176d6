import { grouped, tenths } from '../../framework/values/grouped.ts';
import type {
  LiveDecision,
  LiveEndpoint,
  LiveHealth,
  LiveMessage,
  LivePicker,
  LiveStep,
} from '../../serve/live/live-message.ts';
import { namesOf } from './endpoint-names.ts';
import { decisionLines, shortened } from './top-decisions.ts';
import { fittingRows, ms, poolLines } from './top-pool.ts';

/** What `pointsman top` shows, collected from the messages so far. */
export interface TopState {
  readonly picker: LivePicker;
  readonly message: LiveMessage;
  readonly steps: readonly LiveStep[];
  readonly rows: readonly LiveEndpoint[];
  readonly notShown: number;
  readonly whyEmpty?: string | undefined;
  /** Latest first. */
  readonly decisions: readonly LiveDecision[];
}

const DECISIONS_SHOWN = 10;
/** As many lines are kept from a long pool. */
const DECISIONS_MIN = 3;
/** Lines beside those of endpoints and decisions. */
const OTHER_LINES = 10;
const STEPS_DRAWN = 60;
/** Longer ago, a first token says nothing about now. */
const ANSWERED_MS_MAX = 10_000;
const BARS = '▁▂▃▄▅▆▇█';
const WORST_FIRST = ['ejected', 'not scraped', 'stale', 'new', 'ok'];
/** Names in the order that people expect: `pod-9` before `pod-10`. */
const { compare: compareNames } = new Intl.Collator('en', { numeric: true });

/** The state after one more message; `before` is undefined for the first. */
export function afterMessage(
  before: TopState | undefined,
  message: LiveMessage,
): TopState | undefined {
  const picker = message.picker ?? before?.picker;
  if (picker === undefined) return undefined;
  const { steps, pool, decisions } = message;
  const old = message.picker === undefined ? before : undefined;
  return {
    picker,
    message,
    steps: [...(old?.steps ?? []), ...steps].slice(-STEPS_DRAWN),
    rows: pool?.rows ?? old?.rows ?? [],
    notShown: pool?.notShown ?? old?.notShown ?? 0,
    whyEmpty: pool === undefined ? old?.whyEmpty : pool.whyEmpty,
    decisions: [...decisions.shown, ...(old?.decisions ?? [])].slice(0, DECISIONS_SHOWN),
  };
}

/** How much fits into a terminal; infinite where there is none. */
export interface TopSize {
  /** Lines beside the last one, which is for a note. */
  readonly lines: number;
  /** Characters of a line, which longer lines are cut to: what matters most stands first. */
  readonly columns: number;
}

/** The state as lines for a terminal. */
export function topText(state: TopState, { lines: linesMax, columns }: TopSize): string {
  const { picker, message, rows, notShown, decisions } = state;
  const { totals } = message;
  const nameOf = namesOf(rows.map(({ id }) => id));
  const sorted = rows.toSorted(byTrouble);
  const troubles = healthLines(message.health);
  const others = OTHER_LINES + troubles.length + refusedLines(message).length;
  const linesLeft = linesMax - others - DECISIONS_MIN;
  const shown = fittingRows(sorted, linesLeft);
  const hidden = rows.length - shown.length + notShown;
  const lines = [
    headLine(picker, message.promoted),
    ...troubles,
    '',
    `in flight ${grouped(totals.inFlight)}   waiting here ${grouped(totals.waiting)}   endpoints ${grouped(totals.endpoints)}${healthOf(state)}`,
    ...requestLines(state, columns),
    ...refusedLines(message),
    '',
    ...poolLines(shown, nameOf, columns),
    ...(hidden === 0 ? [] : [`… and ${grouped(hidden)} more endpoints`]),
    '',
    ...(picker.explains
      ? decisionLines(decisions, nameOf, columns)
      : ['no decisions: --explain-decisions is 0']),
  ];
  const fitting = lines.slice(0, linesMax).map((line) => shortened(line, columns));
  return `${fitting.join('\n')}\n`;
}

function healthOf({ message: { totals }, rows, whyEmpty = '/readyz says why' }: TopState): string {
  if (totals.endpoints === 0) return `: ${whyEmpty}`;
  const troubled = rows.filter((row) => row.state !== 'ok').length;
  return troubled === 0 ? ', all well' : `, ${grouped(troubled)} with trouble`;
}

/** A line for each reason of `/readyz`. */
function healthLines({ state, reasons }: LiveHealth): readonly string[] {
  return reasons.map((reason) => `${state}: ${reason}`);
}

/** The latest request that flow control refused, and why. */
function refusedLines({ refused: [latest] = [], wallMs }: LiveMessage): readonly string[] {
  if (latest === undefined) return [];
  const { priority, fairnessId, status, why } = latest;
  const agoS = Math.max(0, (wallMs - latest.wallMs) / 1000).toFixed(0);
  return [
    `refused by flow control ${agoS} s ago: ${status}, priority ${priority}, fairness id ${fairnessId}: ${why}`,
  ];
}

function headLine(
  { pool, policy, version }: LivePicker,
  promoted: LiveMessage['promoted'],
): string {
  const named = [
    ['pool', pool],
    ['configuration', policy],
  ].flatMap(([what, name]) => (name === '' ? [] : [`${what} ${name}`]));
  const decides =
    promoted === undefined ? [] : [`${promoted.shadow} decides ${promoted.percent} %`];
  return [...named, ...decides, `pointsman ${version}`].join(' · ');
}

function requestLines({ steps, picker }: TopState, columns: number): readonly string[] {
  const seconds = picker.stepMs / 1000;
  const last = steps.at(-1);
  const perSecond = (count: number | undefined): string => `${tenths((count ?? 0) / seconds)}/s`;
  const rates = partsWithin(
    [
      `decided ${perSecond(last?.picked)}`,
      `refused ${perSecond(last?.refused)}`,
      `failed ${perSecond(last?.failed)}`,
      `after a wait ${perSecond(last?.held)}`,
    ],
    columns - BARS.length,
  );
  // The latest ones are at the end.
  const drawn = steps.slice(-Math.max(1, Math.min(STEPS_DRAWN, columns - rates.length - 3)));
  const bars = spark(drawn.map(({ picked }) => picked));
  return [`${rates}   ${bars}`, firstTokenText(steps, columns)];
}

/** As many of these parts, from the first on, as a line has room for: half a number is a wrong one. */
function partsWithin([first = '', ...others]: readonly string[], columns: number): string {
  let line = first;
  for (const part of others) {
    if (line.length + 3 + part.length > columns) break;
    line += `   ${part}`;
  }
  return line;
}

function firstTokenText(steps: readonly LiveStep[], columns: number): string {
  const answered = steps.findLast((step) => step.ttftMs !== null);
  const ttft = answered?.ttftMs;
  if (answered === undefined || !ttft) return 'first token: no streamed answer yet';
  const agoMs = (steps.at(-1)?.wallMs ?? 0) - answered.wallMs;
  const median = ms(ttft.median);
  if (agoMs > ANSWERED_MS_MAX) {
    return `first token: none for ${(agoMs / 1000).toFixed(0)} s, the last median was ${median}`;
  }
  return partsWithin(
    [
      `first token  median ${median}`,
      `predicted ${ms(ttft.predictedMedian)}`,
      `95th percentile ${ms(ttft.p95)}`,
    ],
    columns,
  );
}

/** The values as a line of small bars, without colours. */
function spark(values: readonly number[]): string {
  const most = Math.max(1, ...values);
  return values.map((value) => BARS[Math.round((value / most) * (BARS.length - 1))]).join('');
}

/** By load rows would change places each second. */
function byTrouble(a: LiveEndpoint, b: LiveEndpoint): number {
  const rank = ({ state }: LiveEndpoint): number => WORST_FIRST.indexOf(state);
  return rank(a) - rank(b) || compareNames(a.id, b.id);
}
