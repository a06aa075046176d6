import { displayWidth, padded } from '../../framework/values/display-width.ts';
import { outcomeText } from '../../journal/explain/explanation-text.ts';
import type { FlowRecord } from '../../journal/explain/last-flow-stays.ts';
import type { RefusedRequest } from '../../journal/explain/last-refusals.ts';
import { answerText } from '../../journal/explain/latest-answers.ts';
import type { DecisionLine, DecisionList } from '../../serve/admin/decision-documents.ts';
import { namesOf } from './endpoint-names.ts';
import { brokenAtWords, fittingColumns, GAP, leftOutNote } from './fitting-columns.ts';
import { ending, NAME_CHARS_MIN } from './top-pool.ts';

const HEAD = [
  'request',
  'age',
  'endpoint',
  'answer',
  'model',
  'tokens',
  'predicted',
  'observed',
  'waited',
];
const NAME = HEAD.indexOf('endpoint');
const TEXTS = ['request', 'endpoint', 'answer', 'model'];
const LIST_NOTE = [
  'answer: its status; broken: cut off, or ended with an error; by: the server in place of the pick',
  'ended early: the client left, or the server broke off without a word',
  'predicted, observed: time to the first token, observed in streamed answers only',
  'waited: the part of it at the picker; –: not known',
];

/** The columns, the most important first: a narrow terminal has no room for the last ones. */
const IMPORTANCE = [
  'request',
  'endpoint',
  'answer',
  'observed',
  'predicted',
  'tokens',
  'age',
  'waited',
  'model',
];

type Line = DecisionLine | FlowRecord | RefusedRequest;

/** As many are asked for. */
const LISTED_MIN = 20;

/**
 * A line for each decision and each request that was refused without one, latest first, of at most `columns`
 * characters where ids allow.
 */
export function decisionListText(list: DecisionList, columns: number): string {
  const { decisions, refused = [], wallMs } = list;
  const listed = [...decisions, ...refused]
    .toSorted((a, b) => b.wallMs - a.wallMs)
    .slice(0, Math.max(decisions.length, LISTED_MIN));
  if (listed.length === 0) return 'no decisions yet\n';
  const nameOf = namesOf(
    decisions.flatMap(({ outcome }) => (outcome.kind === 'picked' ? [outcome.endpoint] : [])),
  );
  const whole = listed.map((line) => cellsOf(line, wallMs, nameOf));
  const beside = widthsOf(whole).reduce(
    (sum, width, at) => sum + (at === NAME ? 0 : width + GAP.length),
    0,
  );
  const nameChars = Math.max(NAME_CHARS_MIN, columns - beside);
  const rows = whole.map((row) => row.with(NAME, ending(row[NAME] ?? '', nameChars)));
  const widths = widthsOf(rows);
  const shown = fittingColumns(HEAD, widths, IMPORTANCE, columns);
  const isLeft = (at: number): boolean => TEXTS.includes(HEAD[at] ?? '');
  const inColumn = (cell: string, at: number): string =>
    padded(cell, widths[at] ?? 0, isLeft(at) ? 'behind' : 'before');
  const lines = [HEAD, ...rows].map((row) =>
    row
      .map(inColumn)
      .filter((_, at) => shown.has(HEAD[at] ?? ''))
      .join(GAP)
      .trimEnd(),
  );
  const notes = leftOutNote(HEAD, shown).flatMap((note) => brokenAtWords(note, columns));
  return `${[...lines, ...notes, ...LIST_NOTE].join('\n')}\n`;
}

function cellsOf(line: Line, nowMs: number, nameOf: (id: string) => string): readonly string[] {
  return [
    line.requestId || ('id' in line ? line.id : ''),
    ageText(nowMs - line.wallMs),
    becameText(line, nameOf),
    'outcome' in line && line.answer !== undefined ? answerText(line.answer) : '–',
    line.model || '?',
    'promptTokens' in line ? line.promptTokens.toLocaleString('en') : '–',
    ...timesOf(line),
  ];
}

function becameText(line: Line, nameOf: (id: string) => string): string {
  if ('outcome' in line) {
    const { outcome } = line;
    return outcome.kind === 'picked' ? nameOf(outcome.endpoint) : outcomeText(outcome);
  }
  if ('refused' in line) return `refused with ${line.refused.status}`;
  const { left } = line.flowControl;
  return left?.kind === 'refused' ? `refused with ${left.status} by flow control` : '';
}

/** Predicted and observed time to the first token, and the time at the picker. */
function timesOf(line: Line): readonly string[] {
  const known = 'outcome' in line ? line.times : undefined;
  const times = 'flowControl' in line ? { waitedMs: line.flowControl.waitedMs } : known;
  return [times?.predictedTtftMs, times?.observedTtftMs, times?.waitedMs].map(durationText);
}

function widthsOf(rows: readonly (readonly string[])[]): readonly number[] {
  return HEAD.map((head, at) =>
    Math.max(head.length, ...rows.map((row) => displayWidth(row[at] ?? ''))),
  );
}

function ageText(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

function durationText(ms: number | undefined): string {
  if (ms === undefined) return '–';
  return ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms).toLocaleString('en')} ms`;
}
