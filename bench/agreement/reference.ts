import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServe } from '../../src/serve/serve.ts';
import type { KubernetesBinaries } from '../support/kubernetes-binaries.ts';
import { startReferencePools } from '../support/reference-pools.ts';
import { type Found, startReferenceProgram } from '../support/reference-program.ts';
import { serveOptions } from '../support/stack.ts';
import { endpointsInFile } from './endpoints-in-file.ts';

/** The picker in charge. */
export interface InCharge {
  readonly name: string;
  readonly extProcPort: number;
  stop(): Promise<void>;
}

/** A program of the reference picker. */
export interface Reference {
  readonly name: string;
  readonly path: string;
  /** An API server that it finds the model servers by; undefined: it reads them from a file. */
  readonly kubernetes?: KubernetesBinaries;
}

const POOL = 'agreement';

/** The reference picker where there is one; else another Pointsman in its place. */
export function startInCharge(
  { reference, standIn }: { readonly reference: Reference | undefined; readonly standIn: string },
  endpoints: readonly string[],
): Promise<InCharge> {
  return reference === undefined
    ? startStandIn(standIn, endpoints)
    : startReference(reference, endpoints);
}

async function startStandIn(config: string, endpoints: readonly string[]): Promise<InCharge> {
  const serving = await startServe(serveOptions({ endpoints, seed: 2 }, config));
  const { extProcPort } = serving;
  return { name: `another Pointsman with ${config}`, extProcPort, stop: () => serving.stop() };
}

async function startReference(
  { name, path, kubernetes }: Reference,
  endpoints: readonly string[],
): Promise<InCharge> {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-agreement-'));
  const stops: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const stop = async (): Promise<void> => {
    for (const each of stops.splice(0).reverse()) await each();
  };
  try {
    const found = async (): Promise<Found> => {
      if (kubernetes === undefined) return endpointsInFile(folder, endpoints);
      const pools = await startReferencePools(folder, kubernetes);
      stops.push(() => pools.stop());
      return pools.createPool(POOL, endpoints);
    };
    const servers = endpoints.length;
    const program = await startReferenceProgram(path, { found: await found(), servers });
    stops.push(() => program.stop());
    const { extProcPort } = program;
    return { name, extProcPort, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
