import { atMost, ofEcho, ofRow } from './bounds.ts';
import {
  efficient,
  efficientStream,
  PASSTHROUGH,
  partial,
  REFERENCE,
  saturated,
  scraping,
  streamed,
} from './make-rows.ts';
import { OPEN_ROWS } from './open-rows.ts';
import { type CostRow, KIB, USUAL } from './row.ts';

/**
 * The reference picker's figures were measured on a machine with two cores like this project's,
 * through the same Envoy, with its default configuration, saturated.
 */
const SATURATED: readonly CostRow[] = [
  saturated({ endpoints: 8, kib: 1, reference: 0.25 }, [
    ofEcho('cost', 1.7),
    atMost('residentMb', 110),
  ]),
  saturated({ endpoints: 8, kib: 32, reference: 1 }, [ofEcho('cost', 2.5)]),
  saturated({ endpoints: 8, kib: 400, reference: 7.5 }, [ofEcho('cost', 2.5)]),
  saturated({ endpoints: 8, kib: 4096 }, [ofEcho('cost', 2.5)]),
  ...[
    { endpoints: 8, kib: 1, reference: 0.25 },
    { endpoints: 8, kib: 32, reference: 1 },
    { endpoints: 8, kib: 400, reference: 7.5 },
  ].map((size) => saturated({ ...size, policy: REFERENCE }, [])),
  saturated({ endpoints: 8, kib: 400, policy: PASSTHROUGH }, [ofEcho('cost', 1.5)]),
  saturated({ endpoints: 64, kib: 1, reference: 0.45 }, [ofRow('cost', '8-1k', 1.15)]),
  saturated({ endpoints: 64, kib: 32, reference: 1.65 }, [ofRow('cost', '8-32k', 1.15)]),
  saturated({ endpoints: 256, kib: 1, reference: 1.6 }, [
    ofRow('cost', '8-1k', 1.5),
    atMost('residentMb', 200),
  ]),
  saturated({ endpoints: 256, kib: 32, reference: 3 }, [ofRow('cost', '8-32k', 1.5)]),
  saturated({ endpoints: 1000, kib: 1 }, []),
  saturated({ endpoints: 1000, kib: 32 }, []),
];

const STREAMS: readonly CostRow[] = [
  {
    ...USUAL,
    id: 'sse-100',
    group: 'stream',
    title: 'answer of 100 SSE chunks, 100 requests/s',
    answerChunks: 100,
    settleMs: 1600,
    load: { kind: 'open', perSecond: 100, bodyBytes: KIB },
    reference: 3.8,
    asked: [ofEcho('cost', 1.15)],
  },
  streamed(1000),
  streamed(10_000),
];

const LARGE: readonly CostRow[] = [
  efficient({ kib: 400, name: 'cold', sharedPart: 0 }, [atMost('cost', 0.5)]),
  efficient({ kib: 400, name: 'cached', sharedPart: 0.9 }, [atMost('cost', 0.9)]),
  efficient({ kib: 4096 }, [atMost('cost', 1)]),
];

const EFFICIENT: readonly CostRow[] = [
  ...LARGE,
  ...LARGE.map(partial),
  efficientStream(100, []),
  efficientStream(10_000, [ofRow('cost', 'efficient-100-chunks', 1)]),
];

const SCRAPES: readonly CostRow[] = [
  scraping({ endpoints: 64, busy: true, reference: 0.9 }, []),
  scraping({ endpoints: 100, busy: true }, [atMost('cost', 0.2), atMost('sampleAgeMs', 250)]),
  scraping({ endpoints: 100, busy: false }, [atMost('cost', 0.05), atMost('sampleAgeMs', 250)]),
  scraping({ endpoints: 1000, busy: true }, [atMost('cost', 0.6), atMost('sampleAgeMs', 250)]),
  scraping({ endpoints: 8, busy: false }, []),
];

const START: CostRow = {
  ...USUAL,
  id: 'start',
  group: 'start',
  title: 'start with 8 endpoints until it serves',
  load: { kind: 'start' },
  asked: [atMost('startMs', 400)],
};

export const COST_ROWS: readonly CostRow[] = [
  ...SATURATED,
  ...STREAMS,
  ...EFFICIENT,
  ...OPEN_ROWS,
  ...SCRAPES,
  START,
];
