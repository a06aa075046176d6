import { faultDrill } from './endpoint-fault.ts';
import { drill, sleep } from './support.ts';

const LIE_MS = 8000;

/** Its metrics stand still at no load, then say what cannot be; it goes on to answer. */
await drill('one of eight servers serves metrics that are wrong', (report) =>
  faultDrill(report, {
    count: 1,
    during: async (set) => {
      await set.begin({ kind: 'stale-metrics' });
      await sleep(LIE_MS);
      await set.end();
      await set.begin({ kind: 'garbage-metrics' });
      await sleep(LIE_MS);
    },
  }),
);
