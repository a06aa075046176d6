import type { Labels } from './prometheus-labels.ts';

/** Selects series by the metric's name and by labels. */
export interface SeriesSpec {
  readonly name: string;
  /** Labels that a series must have; a series without a label has it with an empty value. */
  readonly labels: Labels;
  /** Labels that it must not have. */
  readonly without?: Labels;
  /** The data-parallel rank whose series are selected; undefined: those of all ranks. */
  readonly rank?: RankSpec;
}

export interface RankSpec {
  readonly number: number;
  /** Whether a series that names no rank is selected, too: it is of the whole server. */
  readonly orNone: boolean;
}

/** What vLLM and SGLang call the number of a data-parallel rank. */
export const ENGINE_LABELS: readonly string[] = ['engine', 'dp_rank'];

const SPEC = /^\s*([a-zA-Z_:][\w:]*)\s*(?:\{(.*)\}\s*)?$/s;
/** One label; the reference allows values without quotes behind `=`. */
const MATCHER =
  /\s*([a-zA-Z_]\w*)\s*(?:(!?=)\s*"((?:[^"\\\n]|\\.)*)"|=\s*((?!~)[^",}\s]+))\s*(?:,|$)/y;

/**
 * Reads `name` or `name{label="value",other!="value"}`, the values behind `=` with or without
 * quotes. Undefined where it is no such text. Labels with `__` count for nothing, as in the
 * reference.
 */
export function readSpec(text: string): SeriesSpec | undefined {
  const [, name, inside = ''] = SPEC.exec(text) ?? [];
  if (name === undefined) return undefined;
  const labels = new Map<string, string>();
  const without = new Map<string, string>();
  const end = inside.trimEnd().length;
  MATCHER.lastIndex = 0;
  for (let at = 0; at < end; at = MATCHER.lastIndex) {
    const [, label, sign, quoted, plain] = MATCHER.exec(inside) ?? [];
    if (label === undefined) return undefined;
    if (label.startsWith('__')) continue;
    const value = plain ?? quoted?.replace(/\\(.)/g, '$1') ?? '';
    (sign === '!=' ? without : labels).set(label, value);
  }
  return { name, labels, ...(without.size > 0 && { without }) };
}

/** The series that a text specifies; throws where `readSpec` does not read it. */
export function parseSpec(text: string): SeriesSpec {
  const spec = readSpec(text);
  if (spec === undefined) throw new Error(`${text} does not specify a series`);
  return spec;
}

/** Whether a series with these labels is selected. */
export function selectsSeries({ labels, without, rank }: SeriesSpec, of: Labels): boolean {
  if (rank !== undefined && !isOfRank(rank, of)) return false;
  for (const [name, value] of labels) if ((of.get(name) ?? '') !== value) return false;
  for (const [name, value] of without ?? []) if ((of.get(name) ?? '') === value) return false;
  return true;
}

/** Whether any series of the name is selected, whatever its labels are. */
export function selectsEverySeries({ labels, without, rank }: SeriesSpec): boolean {
  return labels.size === 0 && without === undefined && rank === undefined;
}

function isOfRank({ number, orNone }: RankSpec, of: Labels): boolean {
  const named = ENGINE_LABELS.map((label) => of.get(label)).find((value) => value !== undefined);
  return named === undefined ? orNone : named === String(number);
}
