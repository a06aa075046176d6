import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NAMED_CONFIGS } from '../../src/config/defaults.ts';
import { readCapture } from '../../src/journal/capture/read-capture.ts';
import { renderEnvoyConfig } from '../../src/lab/envoy/render-config.ts';
import { startEnvoy } from '../../src/lab/envoy/run-envoy.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { startServe } from '../../src/serve/serve.ts';
import { stubOptions } from '../../stub-server/options/stub-options.ts';
import { startStubPool } from '../../stub-server/pool.ts';
import { eventually, inFlightAt, serveOptions } from '../support/stack.ts';
import { type Agreement, agreementOf } from './compare.ts';
import { type InCharge, startInCharge } from './reference.ts';

export interface LiveOptions {
  /** The path of a real Envoy. */
  readonly envoy: string;
  /** The path of the reference picker; undefined: another Pointsman stands in. */
  readonly reference: string | undefined;
  /** The configuration that it decides by. */
  readonly standIn: string;
  readonly requests: number;
  readonly servers: number;
  readonly clients: number;
  readonly seed: number;
}

export interface LiveAgreement extends Agreement {
  readonly inCharge: string;
}

/** Prompts that begin alike, so that prefixes count, of one to about twenty blocks. */
const FAMILIES = 12;
const CAPTURE_BYTES_MAX = 1e9;

/**
 * Sends requests through an Envoy with two ext_proc filters, of which the first decides and the
 * second is an observer, and compares the first one's decisions with `reference-default`.
 */
export async function measureAgreement(options: LiveOptions): Promise<LiveAgreement> {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-agreement-'));
  const stops: (() => Promise<void>)[] = [];
  try {
    const stub = { count: options.servers, port: 0, speed: 1, model: 'm' };
    const pool = await startStubPool(stubOptions.parse(stub));
    stops.push(() => pool.stop());
    const endpoints = pool.endpoints.map(({ address }) => address);
    const inCharge = await startInCharge(options, endpoints);
    stops.push(() => inCharge.stop());
    await observe(options, { endpoints, inCharge, folder, stops });
    // Nothing may write to the capture any more.
    for (const stop of stops.splice(0).reverse()) await stop();
    const records = [...readCapture(folder).records];
    const config = NAMED_CONFIGS.get('reference-default') ?? '';
    return { inCharge: inCharge.name, ...(await agreementOf(records, config)) };
  } finally {
    for (const stop of stops.reverse()) await stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Bed {
  readonly endpoints: readonly string[];
  readonly inCharge: InCharge;
  readonly folder: string;
  readonly stops: (() => Promise<void>)[];
}

async function observe(options: LiveOptions, bed: Bed): Promise<void> {
  const { endpoints, inCharge, folder, stops } = bed;
  const capture = { folder, bytesMax: CAPTURE_BYTES_MAX };
  // With its configuration, so that prompts are cut into blocks where the reference cuts them.
  const serving = { observe: true, endpoints, capture };
  const observer = await startServe(serveOptions(serving, 'reference-default'));
  stops.push(() => observer.stop());
  const configYaml = renderEnvoyConfig({
    wiring: 'envoy-observer',
    listenerPort: 0,
    extProcAddress: `127.0.0.1:${inCharge.extProcPort}`,
    observerAddress: `127.0.0.1:${observer.extProcPort}`,
  });
  const envoy = await startEnvoy({ binary: options.envoy, configYaml, log: () => undefined });
  stops.push(() => envoy.stop());
  await send(`http://127.0.0.1:${envoy.listenerPort}/v1/completions`, options);
  await eventually(
    () => inFlightAt(observer.metricsPort),
    (count) => count === 0,
  );
}

/** Clients in a closed loop, each of which waits for its answer. */
async function send(url: string, { requests, clients, seed }: LiveOptions): Promise<void> {
  const random = seededRandom(seed);
  let sent = 0;
  const client = async (): Promise<void> => {
    while (sent < requests) {
      const n = sent++;
      const family = Math.floor(FAMILIES * random.next());
      const words = 20 + Math.floor(400 * random.next());
      const prompt = `${`family ${family} `.repeat(words)} ${n}`;
      const body = { model: 'm', prompt, max_tokens: 4 + Math.floor(12 * random.next()) };
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      if (response.status !== 200) throw new Error(`request ${n} got ${response.status}`);
      await response.text();
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
}
