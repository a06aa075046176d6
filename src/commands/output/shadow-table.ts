import { displayWidth, padded } from '../../framework/values/display-width.ts';
import { grouped, tenths } from '../../framework/values/grouped.ts';
import { explainedText } from '../../shadow/explained-decisions.ts';
import type { Parity } from '../../shadow/parity.ts';
import { parityFigures } from '../../shadow/parity-figures.ts';
import type { ShadowReport } from '../../shadow/shadow-messages.ts';
import type { ShadowStatus } from '../../shadow/start-shadow.ts';
import { undecidedText } from '../../shadow/undecided-text.ts';
import { brokenAtWords, fittingColumns, GAP, leftOutNote } from './fitting-columns.ts';

/** A column beside the names of shadows. */
interface Column {
  readonly head: string;
  /** From 1: a narrow terminal has no room for the columns with the highest numbers. */
  readonly importance: number;
}

/** A column about decisions: about all of them, or those of one kind, which have no `gain`. */
interface DecisionColumn extends Column {
  readonly textOf: (parity: Parity, gain: ShadowReport['gain'] | undefined) => string;
}

interface ShadowColumn extends Column {
  readonly textOf: (shadow: ShadowStatus) => string;
}

const DECISION_COLUMNS: readonly DecisionColumn[] = [
  { head: 'decisions', importance: 1, textOf: ({ decisions }) => grouped(decisions) },
  {
    head: 'same endpoint',
    importance: 3,
    textOf: (parity) => share(parityFigures(parity).agreement),
  },
  { head: 'scored best', importance: 4, textOf: (parity) => share(parityFigures(parity).topOne) },
  { head: 'in best 3', importance: 7, textOf: (parity) => share(parityFigures(parity).topThree) },
  {
    // The shadow's predicted time to a first token minus that of the picker in charge.
    head: 'TTFT difference',
    importance: 2,
    textOf: (parity, gain) => ms(parityFigures(parity).ttftDifferenceMs) + intervalOf(gain),
  },
  { head: 'regret', importance: 6, textOf: (parity) => ms(parityFigures(parity).shadowRegretMs) },
  {
    head: 'observed/predicted',
    importance: 5,
    textOf: (parity) => parityFigures(parity).observedOverPredicted?.toFixed(2) ?? '-',
  },
];

const SHADOW_COLUMNS: readonly ShadowColumn[] = [
  { head: 'restarts', importance: 9, textOf: ({ restarts }) => grouped(restarts) },
  { head: 'dropped', importance: 10, textOf: ({ dropped }) => grouped(dropped) },
  { head: 'waiting', importance: 8, textOf: ({ waiting }) => known(waiting) },
];

const COLUMNS: readonly Column[] = [...DECISION_COLUMNS, ...SHADOW_COLUMNS];
export const SHADOW_HEADS: readonly string[] = ['shadow', ...COLUMNS.map(({ head }) => head)];
const BY_IMPORTANCE: readonly string[] = [
  'shadow',
  ...COLUMNS.toSorted((a, b) => a.importance - b.importance).map(({ head }) => head),
];

const TABLE_NOTE = `TTFT difference: predicted time to first token where the shadow would send
requests, minus that where they went; below 0 the shadow is better; in brackets
its 95 % interval, once there are 5,000 decisions`;

/**
 * The comparison as text: for each shadow a line over all decisions, then one for each kind.
 * Columns that do not fit into `columnsMax` characters are left out and named.
 */
export function shadowTable(
  shadows: readonly ShadowStatus[],
  columnsMax: number = Number.POSITIVE_INFINITY,
): string {
  const lines = [SHADOW_HEADS, ...shadows.flatMap(linesOf)];
  const widths = SHADOW_HEADS.map((_, at) =>
    Math.max(...lines.map((line) => displayWidth(line[at] ?? ''))),
  );
  const inColumn = (cell: string, at: number): string =>
    padded(cell, widths[at] ?? 0, at === 0 ? 'behind' : 'before');
  const shown = fittingColumns(SHADOW_HEADS, widths, BY_IMPORTANCE, columnsMax);
  const table = lines.map((line) =>
    line
      .map(inColumn)
      .filter((_, at) => shown.has(SHADOW_HEADS[at] ?? ''))
      .join(GAP)
      .trimEnd(),
  );
  const notes = shadows.flatMap(({ name, parity }) => [
    ...(parity?.explained === undefined ? [] : [`${name}: ${explainedText(parity.explained)}`]),
    ...(isWithoutTimes(parity) ? [`${name}: ${NO_TIMES}`] : []),
    ...noteOf(name, undecidedText(parity?.replacement)),
  ]);
  const broken = [...notes, ...leftOutNote(SHADOW_HEADS, shown)].flatMap((note) =>
    brokenAtWords(note, columnsMax),
  );
  const all = [...table, ...broken, TABLE_NOTE];
  return `${all.join('\n')}\n`;
}

function noteOf(name: string, text: string | undefined): readonly string[] {
  return text === undefined ? [] : [`${name}: ${text}`];
}

/** A picker of an earlier version does not say it. */
function known(count: number | undefined): string {
  return count === undefined ? '-' : grouped(count);
}

const NO_TIMES = 'times are predicted only with approx-prefix-cache-producer';

function isWithoutTimes(parity: ShadowReport | undefined): boolean {
  return parity !== undefined && parity.all.decisions > 0 && parity.all.predicted === 0;
}

/** The cells of a shadow's lines. The lines of kinds say nothing of the shadow itself. */
function linesOf(shadow: ShadowStatus): readonly (readonly string[])[] {
  const { name, running, parity } = shadow;
  const decided = DECISION_COLUMNS.map(({ textOf }) =>
    parity === undefined ? '-' : textOf(parity.all, parity.gain),
  );
  const itself = SHADOW_COLUMNS.map(({ textOf }) => textOf(shadow));
  const own = parity?.ownDecisions ?? 0;
  const kinds = Object.entries(parity?.kinds ?? {}).map(([kind, each]) => [
    `  ${kind}`,
    ...DECISION_COLUMNS.map(({ textOf }) => textOf(each, undefined)),
  ]);
  return [
    [`${name}${running ? '' : ' (down)'}`, ...decided, ...itself],
    ...(own > 0 ? [[`  decided by itself ${grouped(own)}, not compared`]] : []),
    ...kinds,
  ];
}

/** The difference in per cent with its 95 % interval, where there are enough decisions for one. */
function intervalOf(gain: ShadowReport['gain'] | undefined): string {
  // An interval that cannot be given yet is NaN, which JSON turns into null.
  if (gain === undefined || !Number.isFinite(gain.lowPercent)) return '';
  const [percent = '', low = '', high = ''] = [gain.percent, gain.highPercent, gain.lowPercent].map(
    (value) => tenths(-value),
  );
  return `, ${percent} % (${low} to ${high} %)`;
}

function share(value: number | undefined): string {
  return value === undefined ? '-' : `${(100 * value).toFixed(1)} %`;
}

function ms(value: number | undefined): string {
  return value === undefined ? '-' : `${tenths(value)} ms`;
}
