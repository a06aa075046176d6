import { faultDrill, lasting } from './endpoint-fault.ts';
import { drill } from './support.ts';

/** It accepts connections and answers nothing, neither requests nor scrapes. */
await drill('one of eight servers hangs', (report) =>
  faultDrill(report, { count: 1, during: lasting({ kind: 'hang' }) }),
);
