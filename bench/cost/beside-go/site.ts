import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addressesOf, scrapesSeen, startUpstream, type Tools } from '../../load/bed.ts';
import { startTogether } from '../../load/child.ts';
import type { KubernetesBinaries } from '../../support/kubernetes-binaries.ts';
import { startReferencePools } from '../../support/reference-pools.ts';
import type { Found } from '../../support/reference-program.ts';

/** What all rows share: model servers, and an API server that has them as ready pods. */
export interface Site {
  readonly addresses: readonly string[];
  /** How many metrics pages the model servers have served so far. */
  scrapes(): Promise<number>;
  /** How a Go picker finds the first so many model servers. */
  poolOf(endpoints: number): Promise<Found>;
  stop(): Promise<void>;
}

export function startSite(
  endpoints: number,
  { kubernetes, log }: { readonly kubernetes: KubernetesBinaries } & Pick<Tools, 'log'>,
): Promise<Site> {
  return startTogether(async (keep) => {
    const shape = { endpoints, page: 'real', answerChunks: 0, asPods: true } as const;
    const addresses = addressesOf(keep(await startUpstream(shape, { log })));
    const folder = mkdtempSync(join(tmpdir(), 'pointsman-cost-'));
    keep({ stop: async () => rmSync(folder, { recursive: true, force: true }) });
    const pools = keep(await startReferencePools(folder, kubernetes));
    const known = new Map<number, Promise<Found>>();
    return {
      addresses,
      scrapes: () => scrapesSeen(addresses[0] ?? ''),
      poolOf: (count: number) => {
        const pool =
          known.get(count) ?? pools.createPool(`pool-${count}`, addresses.slice(0, count));
        known.set(count, pool);
        return pool;
      },
    };
  });
}
