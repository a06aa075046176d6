import type { ExplainedProfile, ExplainedScorer, Explanation, RunnerUp } from './explanation.ts';

/** A person compares a few; `all` asks for the others. */
const ENDPOINTS_SHOWN = 12;
const NAMES_SHOWN = 8;

export interface TextOptions {
  /** Every endpoint, however many. */
  readonly all: boolean;
  /** When it was decided. */
  readonly time: string;
}

/** A decision as a page for a terminal. */
export function explanationText(explanation: Explanation, options: TextOptions): string {
  const { id, requestId, model, promptTokens, candidates, profiles } = explanation;
  const also = requestId === '' || requestId === id ? '' : ` (${id})`;
  const lines = [
    `request    ${requestId || id}${also}, decision ${explanation.number}`,
    `asked      ${options.time}  model ${model || '?'}  ${promptTokens} prompt tokens`,
    `went to    ${outcomeText(explanation)}`,
    `out of     ${candidates.length} endpoints`,
    ...profiles.flatMap((profile) => profileLines(profile, options)),
  ];
  return `${lines.join('\n')}\n`;
}

function outcomeText({ outcome }: Explanation): string {
  if (outcome.kind === 'threw') return 'nobody: the scheduler failed';
  if (outcome.kind === 'exhausted') return `nobody: profile ${outcome.profile} left no endpoint`;
  const { endpoint, score, prefill, decidedBy } = outcome;
  return [
    `${endpoint}, score ${figure(score)}`,
    ...(prefill === undefined ? [] : [`prompt computed on ${prefill}`]),
    ...(decidedBy === undefined ? [] : [`decided by ${decidedBy}`]),
  ].join('; ');
}

function profileLines(profile: ExplainedProfile, options: TextOptions): readonly string[] {
  const { filters, scorers, endpoints, runnerUp } = profile;
  const shown = options.all ? endpoints.length : ENDPOINTS_SHOWN;
  const hidden = Math.max(0, endpoints.length - shown);
  return [
    '',
    `profile ${profile.profile}`,
    ...filters.map(({ filter, dropped }) => `  ${filter} dropped ${namesOf(dropped)}`),
    ...(endpoints.length === 0 ? [] : ['', ...table(profile, shown)]),
    ...(hidden === 0 ? [] : [`  … and ${hidden} more (--all)`]),
    ...(runnerUp === undefined ? [] : ['', ...runnerUpLines(runnerUp, scorers.length)]),
  ];
}

function namesOf(names: readonly string[]): string {
  if (names.length === 0) return 'none';
  const more = names.length > NAMES_SHOWN ? ` and ${names.length - NAMES_SHOWN} more` : '';
  return `${names.length}: ${names.slice(0, NAMES_SHOWN).join(', ')}${more}`;
}

function runnerUpLines(
  { endpoint, scoreBehind, costs }: RunnerUp,
  scorers: number,
): readonly string[] {
  const lines = costs.map(({ scorer, term, picked, runnerUp, more }) => {
    const by = scorers > 1 ? ` by ${scorer}` : '';
    return (
      `  the runner-up ${endpoint} would have cost ${figure(runnerUp)} (${term}${by}), ` +
      `${figure(Math.abs(more))} ${more < 0 ? 'less' : 'more'} than ${figure(picked)}`
    );
  });
  const behind =
    scoreBehind < 0
      ? `ahead by ${figure(-scoreBehind)}: the picker does not go by scores alone`
      : `behind by ${figure(scoreBehind)}`;
  return [...lines, `  the runner-up ${endpoint} is ${behind} in score`];
}

/** An endpoint a row, the pick marked; a column for the total, for each score and for each term that is not 0 everywhere. */
function table(profile: ExplainedProfile, shown: number): readonly string[] {
  const { scorers, endpoints, picked } = profile;
  const rows = endpoints.filter((_, at) => at < shown);
  const columns = scorers.flatMap((scorer, at) => columnsOf(scorer, at, rows));
  const heads = ['', 'endpoint', 'total', ...columns.map(({ head }) => head)];
  const cells = rows.map((row, at) => {
    const rank = picked.indexOf(row.endpoint);
    const mark = rank === 0 ? '→' : rank > 0 ? String(rank + 1) : '';
    return [
      mark,
      row.endpoint,
      figure(row.total),
      ...columns.map(({ values }) => figure(values[at])),
    ];
  });
  const widths = heads.map((head, at) =>
    Math.max(head.length, ...cells.map((row) => row[at]?.length ?? 0)),
  );
  return [heads, ...cells].map((row) =>
    `  ${row.map((cell, at) => (at < 2 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('  ')}`.trimEnd(),
  );
}

interface Column {
  readonly head: string;
  readonly values: readonly (number | undefined)[];
}

function columnsOf(
  { scorer, weight, terms }: ExplainedScorer,
  at: number,
  rows: ExplainedProfile['endpoints'],
): readonly Column[] {
  const score = { head: `${scorer}×${weight}`, values: rows.map(({ scores }) => scores[at]) };
  const told = terms.map((head, term) => ({
    head,
    values: rows.map((row) => row.terms[at]?.[term]),
  }));
  return [score, ...told.filter(({ values }) => values.some((value) => value !== 0))];
}

/** Four digits that count, and no more noise. */
function figure(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return '–';
  if (Number.isInteger(value)) return String(value);
  return Math.abs(value) >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(4)));
}
