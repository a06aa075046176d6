import { parentPort, workerData } from 'node:worker_threads';
import { scorers } from '../../scorers/index.ts';
import type { CaptureRecord } from '../capture/capture-record.ts';
import { Redecider } from '../capture/redecide.ts';
import { withPlugins } from '../cli/load-plugins.ts';
import { builtInCatalogue } from '../config/catalogue.ts';
import { dataSources } from '../datalayer/data-sources.ts';
import { remote } from '../remote/remote.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import { ParityTally } from './parity.ts';
import type { ShadowAnswer, ShadowData } from './start-shadow.ts';

/** A thread that decides again what it is told, and answers each batch with how that compares. */
const { config, source, plugins, state } = workerData as ShadowData;
const catalogue = await withPlugins(builtInCatalogue(scorers, dataSources, [remote]), plugins);
const tally = new ParityTally();
let redecider: Redecider | undefined;

parentPort?.on('message', (batch: string) => {
  for (const line of batch.split('\n')) {
    if (line === '') continue;
    const record = JSON.parse(line) as CaptureRecord;
    if (record.e === 'capture') {
      const given = { text: config, source };
      redecider = new Redecider(record, {
        catalogue,
        config: given,
        randomOf: seededRandom,
        state,
      });
      continue;
    }
    const decided = redecider?.take(record);
    if (decided !== undefined) tally.add(decided);
  }
  parentPort?.postMessage(tally.report() satisfies ShadowAnswer);
});
