import type { Trace } from '../traces/trace.ts';

/** How a trace was read. */
export type TraceReading = Pick<Trace, 'repaired' | 'notes'>;

/** The same trace was read for all results: how is told once, beside them. */
export function withoutReading<Result extends { readonly trace?: TraceReading }>(
  all: readonly Result[],
): { readonly results: readonly Omit<Result, 'trace'>[]; readonly trace: TraceReading } {
  const results = all.map(({ trace: _trace, ...rest }) => rest);
  const trace = all.find((each) => each.trace !== undefined)?.trace;
  return { results, trace: trace ?? { repaired: 0, notes: [] } };
}

/** For a person. */
export function sentencesOf({ repaired, notes }: TraceReading): readonly string[] {
  const mended = repaired > 0 ? [`${repaired} lines left out or mended`] : [];
  return [...mended, ...notes].map((sentence) => `trace: ${sentence}`);
}
