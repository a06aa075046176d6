import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NAMED_CONFIGS } from '../../src/config/defaults.ts';
import type { CaptureRecord } from '../../src/journal/capture/capture-record.ts';
import { readCapture } from '../../src/journal/capture/read-capture.ts';
import { renderEnvoyConfig } from '../../src/lab/envoy/render-config.ts';
import { startEnvoy } from '../../src/lab/envoy/run-envoy.ts';
import { startServe } from '../../src/serve/serve.ts';
import { stubOptions } from '../../stub-server/options/stub-options.ts';
import { startMixedPool } from '../../stub-server/pool.ts';
import { eventually, inFlightAt, serveOptions } from '../support/stack.ts';
import { type Agreement, agreementOf, type Pages } from './compare.ts';
import { HeldPages, type Hold, type Readable, readableIn } from './held-pages.ts';
import { type InCharge, type Reference, startInCharge } from './reference.ts';
import { numberOf, type RequestOptions, sendAll } from './requests.ts';

export interface LiveOptions extends RequestOptions {
  /** The path of a real Envoy. */
  readonly envoy: string;
  /** The reference picker; undefined: another Pointsman stands in. */
  readonly reference: Reference | undefined;
  /** The configuration that the stand-in decides by. */
  readonly standIn: string;
  readonly servers: number;
}

export interface LiveAgreement extends Agreement {
  readonly inCharge: string;
}

/** The pages are taken anew when so many requests were answered since both pickers knew them. */
const ANSWERS_PER_PAGE = 100;
/**
 * Blocks of the servers. The reference's releases cut prompts alike then: newer ones, and we, never
 * count in smaller blocks, and older ones count in the engine's.
 */
const BLOCK_TOKENS = 64;
const CAPTURE_BYTES_MAX = 1e9;

/**
 * Sends requests through an Envoy with two ext_proc filters, of which the first decides and the
 * second is an observer, and compares the first one's decisions with `reference-default`. The
 * servers' metrics pages stand still for a while, so that it is known what both have read.
 */
export async function measureAgreement(options: LiveOptions): Promise<LiveAgreement> {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-agreement-'));
  const stops: (() => unknown)[] = [];
  try {
    const shape = { blockTokens: BLOCK_TOKENS, model: 'm' };
    const stub = stubOptions.parse({ count: 1, port: 0, speed: 1, ...shape });
    const servers = Array.from({ length: options.servers }, () => stub);
    const pool = await startMixedPool(servers, { controlPort: 0 });
    stops.push(() => pool.stop());
    const endpoints = pool.endpoints.map(({ address }) => address);
    const pages = new HeldPages(pool.control ?? '', endpoints);
    stops.push(() => pages.stop());
    // Before a picker has read any.
    await pages.take();
    const inCharge = await startInCharge(options, endpoints);
    stops.push(() => inCharge.stop());
    const readable = await observe(options, { endpoints, inCharge, folder, pages, stops });
    // Nothing may write to the capture any more.
    for (const stop of stops.splice(0).reverse()) await stop();
    const records = [...readCapture(folder).records];
    const config = NAMED_CONFIGS.get('reference-default') ?? '';
    const of = {
      said: whatWasSaid(records, pages.holds),
      readable: ({ bodyBytes }: { readonly bodyBytes: number }): Readable =>
        readable[numberOf(bodyBytes, options)] ?? { first: 0, last: 0 },
    };
    return { inCharge: inCharge.name, ...(await agreementOf(records, config, of)) };
  } finally {
    for (const stop of stops.reverse()) await stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Bed {
  readonly endpoints: readonly string[];
  readonly inCharge: InCharge;
  readonly folder: string;
  readonly pages: HeldPages;
  readonly stops: (() => unknown)[];
}

/** Returns, by number of the request, which pages could be read for it. */
async function observe(options: LiveOptions, bed: Bed): Promise<readonly Readable[]> {
  const { endpoints, inCharge, folder, pages, stops } = bed;
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
  await pages.settle();
  const times = await sendAll(`http://127.0.0.1:${envoy.listenerPort}`, options, renewing(pages));
  await eventually(
    () => inFlightAt(observer.metricsPort),
    (count) => count === 0,
  );
  return times.map(({ sentAt, answeredAt }) => readableIn(pages.holds, sentAt, answeredAt));
}

/** Called for each answer: takes new pages after some. */
function renewing(pages: HeldPages): () => void {
  let answers = 0;
  let isSettling = false;
  const renew = async (): Promise<void> => {
    isSettling = true;
    await pages.take();
    await pages.settle();
    answers = 0;
    isSettling = false;
  };
  return () => {
    answers += 1;
    if (answers >= ANSWERS_PER_PAGE && !isSettling) void renew();
  };
}

/** What the pages said: the first sample of each server after they were taken. */
function whatWasSaid(records: readonly CaptureRecord[], holds: readonly Hold[]): Pages['said'] {
  const samples = records.filter((record) => record.e === 'm');
  const servers = new Set(samples.map(({ id }) => id));
  return holds.map(({ takenBy }) => {
    const said = new Map<string, readonly [number, number, number]>();
    for (const id of servers) {
      const read = samples.find((each) => each.id === id && each.m[3] > takenBy);
      if (read !== undefined) said.set(id, [read.m[0], read.m[1], read.m[2]]);
    }
    return said;
  });
}
