import { faultDrill, lasting } from './endpoint-fault.ts';
import { drill } from './support.ts';

/** It answers each request at once with 200 and no body: it looks like the fastest of all. */
await drill('one of eight servers answers 200 and nothing', (report) =>
  faultDrill(report, { count: 1, during: lasting({ kind: 'empty' }), paysForTrials: true }),
);
