import { faultDrill, lasting } from './endpoint-fault.ts';
import { drill } from './support.ts';

/** It loses its requests and refuses connections. */
await drill('one of eight servers crashes', (report) =>
  faultDrill(report, { count: 1, during: lasting({ kind: 'crash' }) }),
);
