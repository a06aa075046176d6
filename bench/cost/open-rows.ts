import { atMost, type Bound } from './bounds.ts';
import { type CostRow, KIB, USUAL } from './row.ts';

/** Longer rounds than of others: a p99 needs some hundreds of requests. */
const LENGTHENED = 2;

/**
 * Rows at a constant rate, with the time that requests take. 400 KB at 1,000/s are more than two
 * cores can move through Envoy, so there is no such row.
 */
export const OPEN_ROWS: readonly CostRow[] = [
  open({ perSecond: 200, kib: 1 }, [atMost('p99Ms', 2.5), atMost('cost', 0.48)]),
  {
    ...open({ perSecond: 200, kib: 32 }, [
      atMost('p99Ms', 4),
      atMost('cost', 0.8),
      atMost('collections', 1),
    ]),
    collections: true,
  },
  open({ perSecond: 200, kib: 400 }, [atMost('p99Ms', 15), atMost('cost', 6.4)]),
  open({ perSecond: 200, kib: 32, pages: 256 }, [atMost('p99Ms', 10)]),
  open({ perSecond: 1000, kib: 1 }, []),
  open({ perSecond: 1000, kib: 32 }, []),
  open({ perSecond: 1000, kib: 1, pages: 256 }, [atMost('p99Ms', 15)]),
  open({ perSecond: 1000, kib: 32, pages: 256 }, [atMost('sampleAgeMs', 250)]),
];

function open(
  rate: { readonly perSecond: number; readonly kib: number; readonly pages?: number },
  asked: readonly Bound[],
): CostRow {
  const { perSecond, kib, pages } = rate;
  const pool = pages === undefined ? '' : `, ${pages} endpoints with pages of 22 KB`;
  return {
    ...USUAL,
    id: `open-${perSecond}-${kib}k${pages === undefined ? '' : `-${pages}`}`,
    group: 'latency',
    title: `${perSecond.toLocaleString('en')}/s of ${kib} KB${pool}`,
    endpoints: pages ?? USUAL.endpoints,
    page: pages === undefined ? 'small' : 'real',
    load: { kind: 'open', perSecond, bodyBytes: kib * KIB },
    lengthened: LENGTHENED,
    asked,
  };
}
