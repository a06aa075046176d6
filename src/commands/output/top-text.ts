import { textTable } from '../../journal/explain/explanation-text.ts';
import type {
  LiveDecision,
  LiveEndpoint,
  LiveMessage,
  LivePicker,
  LiveStep,
} from '../../serve/live/live-message.ts';
import { namesOf } from './endpoint-names.ts';
import { ending, fittingRows, ms, NAME_CHARS_MIN, poolLines } from './top-pool.ts';

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
  const shown = fittingRows(sorted, linesMax - OTHER_LINES - DECISIONS_MIN);
  const hidden = rows.length - shown.length + notShown;
  const lines = [
    headLine(picker),
    '',
    `in flight ${totals.inFlight}   waiting here ${totals.waiting}   endpoints ${totals.endpoints}${healthOf(state)}`,
    ...requestLines(state, columns),
    '',
    ...poolLines(shown, nameOf, columns),
    ...(hidden === 0 ? [] : [`… and ${hidden} more endpoints`]),
    '',
    ...(picker.explains
      ? decisionLines(decisions, nameOf, columns)
      : ['no decisions: --explain-decisions is 0']),
  ];
  const fitting = lines.slice(0, linesMax).map((line) => line.slice(0, columns));
  return `${fitting.join('\n')}\n`;
}

function healthOf({ message: { totals }, rows, whyEmpty = '/readyz says why' }: TopState): string {
  if (totals.endpoints === 0) return `: ${whyEmpty}`;
  const troubled = rows.filter((row) => row.state !== 'ok').length;
  return troubled === 0 ? ', all well' : `, ${troubled} with trouble`;
}

function headLine({ pool, policy, version }: LivePicker): string {
  const named = [
    ['pool', pool],
    ['configuration', policy],
  ].flatMap(([what, name]) => (name === '' ? [] : [`${what} ${name}`]));
  return [...named, `pointsman ${version}`].join(' · ');
}

function requestLines({ steps, picker }: TopState, columns: number): readonly string[] {
  const seconds = picker.stepMs / 1000;
  const last = steps.at(-1);
  const perSecond = (count: number | undefined): string =>
    `${((count ?? 0) / seconds).toFixed(1)}/s`;
  const rates = `decided ${perSecond(last?.picked)}   held before ${perSecond(last?.held)}   refused ${perSecond(last?.refused)}   failed ${perSecond(last?.failed)}   `;
  // The latest ones are at the end.
  const drawn = steps.slice(-Math.max(1, Math.min(STEPS_DRAWN, columns - rates.length)));
  return [`${rates}${spark(drawn.map(({ picked }) => picked))}`, firstTokenText(steps)];
}

function firstTokenText(steps: readonly LiveStep[]): string {
  const answered = steps.findLast((step) => step.ttftMs !== null);
  const ttft = answered?.ttftMs;
  if (answered === undefined || !ttft) return 'first token: no streamed answer yet';
  const agoMs = (steps.at(-1)?.wallMs ?? 0) - answered.wallMs;
  const median = ms(ttft.median);
  if (agoMs > ANSWERED_MS_MAX) {
    return `first token: none for ${(agoMs / 1000).toFixed(0)} s, the last median was ${median}`;
  }
  return `first token  median ${median}   predicted ${ms(ttft.predictedMedian)}   95th percentile ${ms(ttft.p95)}`;
}

/** The values as a line of small bars, without colours. */
function spark(values: readonly number[]): string {
  const most = Math.max(1, ...values);
  return values.map((value) => BARS[Math.round((value / most) * (BARS.length - 1))]).join('');
}

function byTrouble(a: LiveEndpoint, b: LiveEndpoint): number {
  const rank = ({ state }: LiveEndpoint): number => WORST_FIRST.indexOf(state);
  return rank(a) - rank(b) || b.inFlight - a.inFlight;
}

/**
 * Beside the id of a request in one of these lines; a longer id is cut, as all of it is in
 * `explain`.
 */
const BESIDE_IDS = 88;
const ID_CHARS_MIN = 10;
/** Beside id and the two names of a decision. */
const BESIDE_BOTH_NAMES = 40;

function decisionLines(
  decisions: readonly LiveDecision[],
  nameOf: (id: string) => string,
  columns: number,
): readonly string[] {
  if (decisions.length === 0) return ['no requests yet'];
  const idChars = Math.max(ID_CHARS_MIN, columns - BESIDE_IDS);
  const left = Number.isFinite(columns) ? columns - idChars - BESIDE_BOTH_NAMES : columns;
  const nameChars = Math.max(NAME_CHARS_MIN, Math.floor(left / 2));
  const shortName = (id: string): string => ending(nameOf(id), nameChars);
  const rows = decisions.map((decision) => [
    shortened(decision.requestId || decision.id, idChars),
    String(decision.promptTokens),
    decision.held === undefined ? '-' : ms(decision.held.ms),
    decision.outcome.kind === 'picked' ? shortName(decision.outcome.endpoint) : 'no endpoint',
    becauseOf(decision, shortName),
  ]);
  return textTable([['request', 'tokens', 'held', 'went to', 'because'], ...rows], 5);
}

function shortened(text: string, chars: number): string {
  return text.length <= chars ? text : `${text.slice(0, chars - 1)}…`;
}

function becauseOf({ outcome, profiles }: LiveDecision, nameOf: (id: string) => string): string {
  if (outcome.kind === 'threw') return 'the scheduler failed';
  if (outcome.kind === 'exhausted') return 'the filters left none';
  const { decidedBy, profile: used } = outcome;
  const runnerUp = profiles.find(({ profile }) => profile === used)?.runnerUp;
  if (decidedBy === undefined) {
    return runnerUp === undefined ? 'there was no other' : aheadOf(runnerUp, nameOf);
  }
  // A scheduler elsewhere gives no scores; a promoted shadow does.
  const by = `decided by ${decidedBy}`;
  return runnerUp === undefined ? by : `${aheadOf(runnerUp, nameOf)}, ${by}`;
}

type RunnerUp = NonNullable<LiveDecision['profiles'][number]['runnerUp']>;

function aheadOf(runnerUp: RunnerUp, nameOf: (id: string) => string): string {
  const [cost] = runnerUp.costs;
  const second = nameOf(runnerUp.endpoint);
  const { scoreBehind } = runnerUp;
  const asGood = `as good as ${second}`;
  // Where the runner-up costs less, other scores decided.
  if (cost === undefined || cost.more <= -SHOWN_MS / 2) {
    const isTie = Math.abs(scoreBehind) < SHOWN_SCORE / 2;
    return isTie ? asGood : `${scoreBehind.toFixed(3)} ahead of ${second}`;
  }
  return cost.more < SHOWN_MS / 2 ? asGood : `${ms(cost.more)} better than ${second}`;
}

/** The last digits of a time and of a score. */
const SHOWN_MS = 0.1;
const SHOWN_SCORE = 0.001;
