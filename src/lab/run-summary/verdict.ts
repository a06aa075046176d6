import {
  type ConfigReport,
  compare,
  DRAWS_MIN,
  type Estimate,
  type RowKind,
  type Run,
} from './compare.ts';

/** What a comparison says in words, and how sure it is. */
export interface Verdict {
  /** Which configuration answers soonest, by how much, and how sure that is. */
  readonly headline: string;
  /** What a reader must know before trusting the headline. */
  readonly cautions: readonly string[];
  /** For each configuration, in the order of `compare`: how it compares with the first. */
  readonly rows: readonly string[];
}

const INTERVAL = '95 % interval';

/** The verdict of runs by their mean time to first token. */
export function verdictOf(runs: readonly Run[], rowKind: RowKind = 'configuration'): Verdict {
  const reports = compare(runs);
  const best = soonest(reports);
  const headline =
    best === undefined
      ? `No ${rowKind} has answered a request.`
      : [
          mainSentence(runs, reports, best, rowKind),
          ...againstMeasure(runs, reports, best),
          ...drawbacks(runs, reports, best, rowKind),
        ].join(' ');
  return {
    headline,
    cautions: cautionsOf(reports, rowKind),
    rows: reports.map((each) => row(each, reports)),
  };
}

/** The lowest mean time to first token; undefined where nothing was answered. */
function soonest(reports: readonly ConfigReport[]): ConfigReport | undefined {
  const [best] = reports
    .filter(({ figures }) => Number.isFinite(figures.ttftMeanMs.mean))
    .toSorted((a, b) => a.figures.ttftMeanMs.mean - b.figures.ttftMeanMs.mean);
  return best;
}

function mainSentence(
  runs: readonly Run[],
  reports: readonly ConfigReport[],
  best: ConfigReport,
  rowKind: RowKind,
): string {
  const { mean, plusMinus } = best.figures.ttftMeanMs;
  const after = `${milliseconds(mean)} on average`;
  if (reports.length === 1) {
    const interval = best.seeds < DRAWS_MIN ? '' : ` (±${milliseconds(plusMinus)}, ${INTERVAL})`;
    const good = percent(best.figures.goodput.mean);
    return `${best.name} gives the first token after ${after}${interval}; ${good} of its answers are good.`;
  }
  const next = soonest(reports.filter((each) => each !== best));
  if (next === undefined)
    return `Only ${best.name} has answered: the first token comes after ${after}.`;
  const later = relative(differenceFrom(best, next, runs), next);
  if (isShownAsNone(later)) {
    return `${best.name} and ${next.name} give the first token equally soon, after ${after}.`;
  }
  const sooner = `${percent(-later.mean)} sooner than ${next.name}, the next`;
  if (best.seeds < DRAWS_MIN) {
    const [these, so] =
      best.seeds === 1
        ? ['this one draw', 'One draw cannot']
        : [`these ${best.seeds} draws`, 'So few cannot'];
    return `In ${these} ${best.name} gives the first token soonest, after ${after}, ${sooner}. ${so} say whether that is chance.`;
  }
  const range = rangeText({ ...later, mean: -later.mean }, 1);
  if (!isClear(later)) {
    return `No ${rowKind} is clearly soonest: ${best.name} gives the first token after ${after}, ${next.name} after ${milliseconds(next.figures.ttftMeanMs.mean)}, which may be chance (${INTERVAL} of the difference: ${range}, ${best.seeds} draws).`;
  }
  return `${best.name} gives the first token soonest, after ${after}: ${sooner} (${INTERVAL}: ${range}, ${best.seeds} draws).`;
}

/** The time to first token of `best` minus that of `other`, paired by draw. */
function differenceFrom(best: ConfigReport, other: ConfigReport, runs: readonly Run[]): Estimate {
  const of = (name: string): readonly Run[] => runs.filter(({ job }) => job.name === name);
  const [, against] = compare([...of(other.name), ...of(best.name)]);
  return against?.againstFirst?.ttftMeanMs ?? { mean: Number.NaN, plusMinus: Number.NaN };
}

/** How the soonest stands to the first row, where the sentence before has compared it with another. */
function againstMeasure(
  runs: readonly Run[],
  reports: readonly ConfigReport[],
  best: ConfigReport,
): readonly string[] {
  const [first] = reports;
  const next = soonest(reports.filter((each) => each !== best));
  if (first === undefined || next === undefined || first === best || first === next) return [];
  const later = relative(differenceFrom(best, first, runs), first);
  // A draw alone says how it compares, and not how sure that is.
  const isShown = best.seeds < DRAWS_MIN ? Number.isFinite(later.mean) : isClear(later);
  if (!isShown || isShownAsNone(later)) return [];
  const range = rangeText({ ...later, mean: -later.mean }, 1);
  const interval = best.seeds < DRAWS_MIN ? '' : ` (${INTERVAL}: ${range})`;
  return [
    `${best.name} is ${percent(-later.mean)} sooner than ${first.name}, the first row${interval}.`,
  ];
}

/** Figures in which the soonest configuration is behind another one. */
function drawbacks(
  runs: readonly Run[],
  reports: readonly ConfigReport[],
  best: ConfigReport,
  rowKind: RowKind,
): readonly string[] {
  const { goodput, failed } = best.figures;
  const [better] = reports.toSorted((a, b) => b.figures.goodput.mean - a.figures.goodput.mean);
  const requests = runs[0]?.summary.requests ?? 0;
  return [
    ...(better !== undefined && better.figures.goodput.mean - goodput.mean >= 0.001
      ? [
          `But ${better.name} has more good answers: ${percent(better.figures.goodput.mean)} against ${percent(goodput.mean)}.`,
        ]
      : []),
    ...(Math.round(failed.mean) > 0 ? [failures(reports, best, requests, rowKind)] : []),
  ];
}

/** How many requests fail with the soonest configuration, and whether another has fewer of them. */
function failures(
  reports: readonly ConfigReport[],
  best: ConfigReport,
  requests: number,
  rowKind: RowKind,
): string {
  const failed = ({ figures }: ConfigReport): number => Math.round(figures.failed.mean);
  const fails = failed(best);
  const [fewest = best] = reports.toSorted((a, b) => failed(a) - failed(b));
  const areEqual = reports.length > 1 && reports.every((each) => failed(each) === fails);
  const whose = areEqual ? `each ${rowKind}` : best.name;
  const fewer = failed(fewest) < fails ? `, ${count(failed(fewest))} with ${fewest.name}` : '';
  return `${count(fails)} of ${count(requests)} requests ${fails === 1 ? 'fails' : 'fail'} with ${whose}${fewer}.`;
}

/** What makes more draws: a trace is sent to a live target once in a run. */
const MORE_DRAWS: Readonly<Record<RowKind, string>> = {
  configuration: `use at least ${DRAWS_MIN} (--seeds ${DRAWS_MIN})`,
  target: 'send the trace several times, to see how much the figures differ',
};

function cautionsOf(reports: readonly ConfigReport[], rowKind: RowKind): readonly string[] {
  const draws = reports[0]?.seeds ?? 0;
  if (draws === 0 || draws >= DRAWS_MIN) return [];
  const number = draws === 1 ? 'There is one draw' : `There are only ${draws} draws`;
  const what = reports.length === 1 ? 'the figures' : 'differences';
  return [`${number}, so ${what} may be chance and no interval is given: ${MORE_DRAWS[rowKind]}.`];
}

function row(report: ConfigReport, reports: readonly ConfigReport[]): string {
  const [first] = reports;
  const { againstFirst, figures, seeds } = report;
  if (!Number.isFinite(figures.ttftMeanMs.mean)) return 'no answers';
  if (first === undefined || againstFirst === undefined) return 'the measure';
  if (!Number.isFinite(againstFirst.ttftMeanMs.mean)) return 'not comparable';
  const later = relative(againstFirst.ttftMeanMs, first);
  const way = later.mean < 0 ? 'sooner' : 'later';
  if (isShownAsNone(later)) return 'equally soon';
  const size = (100 * Math.abs(later.mean)).toFixed(1);
  if (seeds < DRAWS_MIN) return `${size} % ${way}, ${seeds === 1 ? 'one draw' : `${seeds} draws`}`;
  if (!isClear(later)) return `no clear difference (${rangeText(later)})`;
  return `${size} ±${(100 * later.plusMinus).toFixed(1)} % ${way}`;
}

/** A share of the other configuration's time. */
function relative({ mean, plusMinus }: Estimate, { figures }: ConfigReport): Estimate {
  const base = figures.ttftMeanMs.mean;
  return { mean: mean / base, plusMinus: plusMinus / base };
}

/** Whether 0 is outside the interval. */
function isClear({ mean, plusMinus }: Estimate): boolean {
  return Math.abs(mean) > plusMinus;
}

/** Whether difference and interval are 0.0 %, as far as it is shown. */
function isShownAsNone({ mean, plusMinus }: Estimate): boolean {
  return Math.abs(mean) < 0.0005 && !(plusMinus >= 0.0005);
}

/** `most` bounds what can be: nothing comes more than 100 % sooner. */
function rangeText({ mean, plusMinus }: Estimate, most = Number.POSITIVE_INFINITY): string {
  const ends = [mean - plusMinus, Math.min(most, mean + plusMinus)];
  const [low, high] = ends.map((value) => signed(100 * value));
  return `${low} to ${high} %`;
}

function signed(value: number): string {
  return `${value < 0 ? '−' : ''}${Math.abs(value).toFixed(1)}`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

function milliseconds(value: number): string {
  return `${value < 100 ? value.toFixed(1) : count(Math.round(value))} ms`;
}

function count(value: number): string {
  return value.toLocaleString('en');
}
