import { faultDrill } from './endpoint-fault.ts';
import { drill, sleep } from './support.ts';

const TIMES = 150;
const HALF_MS = 50;

/** It refuses connections for 50 ms and accepts them for 50 ms, for 15 s. */
await drill('one of eight servers flaps ten times a second', (report) =>
  faultDrill(report, {
    count: 1,
    during: async (set) => {
      for (let time = 0; time < TIMES; time++) {
        await set.begin({ kind: 'refuse' });
        await sleep(HALF_MS);
        await set.end();
        await sleep(HALF_MS);
      }
    },
  }),
);
