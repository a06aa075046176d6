import { textTable } from '../../journal/explain/explanation-text.ts';
import type {
  LiveDecision,
  LiveEndpoint,
  LiveMessage,
  LivePicker,
  LiveStep,
} from '../../serve/live/live-message.ts';

/** What `pointsman top` shows, collected from the messages so far. */
export interface TopState {
  readonly picker: LivePicker;
  readonly message: LiveMessage;
  readonly steps: readonly LiveStep[];
  readonly rows: readonly LiveEndpoint[];
  readonly notShown: number;
  /** Latest first. */
  readonly decisions: readonly LiveDecision[];
}

const DECISIONS_SHOWN = 10;
const STEPS_DRAWN = 60;
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
    decisions: [...decisions.shown, ...(old?.decisions ?? [])].slice(0, DECISIONS_SHOWN),
  };
}

/** The state as lines for a terminal; of the pool at most so many rows. */
export function topText(state: TopState, rowsMax: number): string {
  const { picker, message, rows, notShown, decisions } = state;
  const { totals } = message;
  const troubled = rows.filter((row) => row.state !== 'ok').length;
  const trouble = troubled === 0 ? 'all well' : `${troubled} with trouble`;
  const hidden = Math.max(0, rows.length - rowsMax) + notShown;
  const lines = [
    headLine(picker),
    '',
    `in flight ${totals.inFlight}   waiting here ${totals.waiting}   endpoints ${totals.endpoints}, ${trouble}`,
    ...requestLines(state),
    '',
    ...poolLines(rows.toSorted(byTrouble).slice(0, rowsMax)),
    ...(hidden === 0 ? [] : [`… and ${hidden} more endpoints`]),
    '',
    ...decisionLines(decisions, picker.explains),
  ];
  return `${lines.join('\n')}\n`;
}

function headLine({ pool, policy, version }: LivePicker): string {
  const named = [
    ['pool', pool],
    ['configuration', policy],
  ].flatMap(([what, name]) => (name === '' ? [] : [`${what} ${name}`]));
  return [...named, `pointsman ${version}`].join(' · ');
}

function requestLines({ steps, picker }: TopState): readonly string[] {
  const seconds = picker.stepMs / 1000;
  const last = steps.at(-1);
  const perSecond = (count: number | undefined): string =>
    `${((count ?? 0) / seconds).toFixed(1)}/s`;
  const ttft = steps.findLast((step) => step.ttftMs !== null)?.ttftMs;
  const bars = spark(steps.map(({ picked }) => picked));
  return [
    `decided ${perSecond(last?.picked)}   held before ${perSecond(last?.held)}   refused ${perSecond(last?.refused)}   failed ${perSecond(last?.failed)}   ${bars}`,
    ttft === undefined || ttft === null
      ? 'first token: no streamed answer yet'
      : `first token  median ${ms(ttft.median)}   predicted ${ms(ttft.predictedMedian)}   95th percentile ${ms(ttft.p95)}`,
  ];
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

const HEADS = [
  'endpoint',
  'state',
  'role',
  'in flight',
  'prefill',
  'running',
  'queue',
  'KV',
  'hits',
  'age',
];

function poolLines(rows: readonly LiveEndpoint[]): readonly string[] {
  const cells = rows.map(({ id, state, role = '', inFlight, prefillTokens, sample, hitRate }) => [
    id,
    state,
    role,
    String(inFlight),
    String(prefillTokens),
    String(sample?.running ?? '-'),
    String(sample?.waiting ?? '-'),
    percent(sample?.kv ?? null),
    percent(hitRate),
    sample === null ? '-' : ms(sample.ageMs),
  ]);
  const why = rows.flatMap(({ id, state, why: reason }) =>
    reason === undefined ? [] : [`  ${id} is ${state}: ${reason}`],
  );
  return [...textTable([HEADS, ...cells], 3), ...why];
}

function decisionLines(decisions: readonly LiveDecision[], explains: boolean): readonly string[] {
  if (!explains) return ['no decisions: --explain-decisions is 0'];
  if (decisions.length === 0) return ['no requests yet'];
  const rows = decisions.map((decision) => [
    decision.requestId || decision.id,
    String(decision.promptTokens),
    decision.held === undefined ? '-' : ms(decision.held.ms),
    decision.outcome.kind === 'picked' ? decision.outcome.endpoint : 'no endpoint',
    becauseOf(decision),
  ]);
  return textTable([['latest request', 'tokens', 'held', 'went to', 'because'], ...rows], 5);
}

function becauseOf({ outcome, profiles }: LiveDecision): string {
  if (outcome.kind === 'threw') return 'the scheduler failed';
  if (outcome.kind === 'exhausted') return 'the filters left none';
  if (outcome.decidedBy !== undefined) return `decided by ${outcome.decidedBy}`;
  const runnerUp = profiles.find(({ profile }) => profile === outcome.profile)?.runnerUp;
  if (runnerUp === undefined) return 'there was no other';
  const [cost] = runnerUp.costs;
  if (cost === undefined) {
    return `ahead of ${runnerUp.endpoint} by ${runnerUp.scoreBehind.toFixed(3)}`;
  }
  const isTie = Math.abs(cost.more) < SHOWN_MS / 2;
  return `${runnerUp.endpoint} would have cost ${isTie ? 'the same' : `${ms(cost.more)} more`}`;
}

/** The last digit of a time. */
const SHOWN_MS = 0.1;

function ms(value: number | null): string {
  if (value === null) return '-';
  if (value >= 1000) return `${(value / 1000).toFixed(1)} s`;
  return `${value.toFixed(value >= 100 ? 0 : 1)} ms`;
}

function percent(share: number | null): string {
  return share === null ? '-' : `${Math.round(100 * share)} %`;
}
