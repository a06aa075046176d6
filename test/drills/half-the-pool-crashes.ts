import { faultDrill, lasting } from './endpoint-fault.ts';
import { drill } from './support.ts';

/** At the same moment. */
await drill('four of eight servers crash', (report) =>
  faultDrill(report, { count: 4, during: lasting({ kind: 'crash' }) }),
);
