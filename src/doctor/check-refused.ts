import type { Finding } from './finding.ts';

/** What became of the requests of the last five minutes at the picker. */
export interface DecidedRequests {
  readonly decided: number;
  /** By status and reason, at most the last 4,096. */
  readonly refused: Readonly<Record<string, number>>;
}

const REFUSED_MIN = 3;
const SHARE_MIN = 0.01;
/** Other statuses are errors of clients. */
const OVERLOAD = /^(?:408|429|5\d\d) /;

/** Requests that the picker refused because it or the pool had no room for them. */
export function checkRefused(latest: DecidedRequests | undefined): readonly Finding[] {
  if (latest === undefined) return [];
  const kinds = Object.entries(latest.refused)
    .filter(([why]) => OVERLOAD.test(why))
    .toSorted(([, a], [, b]) => b - a);
  const refused = kinds.reduce((sum, [, count]) => sum + count, 0);
  const all = latest.decided + refused;
  if (refused < REFUSED_MIN || refused / all < SHARE_MIN) return [];
  const why = kinds.map(([kind, count]) => `${count.toLocaleString('en')} × ${kind}`).join(', ');
  return [
    {
      severity: 'warning',
      id: 'requests-refused',
      where: 'picker',
      what: `of ${all.toLocaleString('en')} requests of the last five minutes it has refused ${refused.toLocaleString('en')} (${Math.round((100 * refused) / all)} %): ${why}.`,
      mend: '`pointsman explain` lists the latest with the words that their clients got; see docs/runbooks.md#pointsman-requests-refused.',
    },
  ];
}
