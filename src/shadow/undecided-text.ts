import { countOf, grouped } from '../framework/values/grouped.ts';
import type { ShadowReport } from './shadow-messages.ts';

/** More say no more. */
const REASONS_SHOWN = 4;

/**
 * Which requests a shadow's scheduler left to the profiles, and why; undefined where it decides
 * all. The live page has the same words.
 */
export function undecidedText(replacement: ShadowReport['replacement']): string | undefined {
  const { undecided = 0, reasons = {}, trouble } = replacement ?? {};
  if (undecided === 0) return undefined;
  const most = Object.entries(reasons).toSorted(([, a], [, b]) => b - a);
  const why = most.slice(0, REASONS_SHOWN).map(([reason, count]) => `${grouped(count)} ${reason}`);
  const because = why.length === 0 ? '' : ` (${why.join(', ')})`;
  const now = trouble === undefined ? '' : `; it is not connected: ${trouble}`;
  return `its scheduler left ${countOf(undecided, 'request')} to the profiles, which are not compared${because}${now}; pointsman scheduler check asks it`;
}
