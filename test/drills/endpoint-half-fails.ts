import { faultDrill, lasting } from './endpoint-fault.ts';
import { drill } from './support.ts';

/** Its metrics say nothing of it. */
await drill('one of eight servers answers 30 % of its requests with 503', (report) =>
  faultDrill(report, {
    count: 1,
    during: lasting({ kind: 'error', status: 503, share: 0.3 }),
  }),
);
