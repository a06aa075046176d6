import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { NAMED_CONFIGS } from '../../src/config/defaults.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { EndpointId } from '../../src/framework/endpoint.ts';
import { CACHE_CONFIG } from '../../src/framework/endpoint-attributes.ts';
import type { InferenceRequest } from '../../src/framework/request.ts';
import type { CaptureRecorder } from '../../src/journal/capture/capture-recorder.ts';
import { startCapture } from '../../src/journal/capture/start-capture.ts';
import { withoutNetwork } from '../../src/library/create-picker.ts';
import { chainBlockIds } from '../../src/openai/prompts/chain-block-ids.ts';
import { EndpointPicker } from '../../src/picker/endpoint-picker.ts';
import { createLog } from '../../src/runtime/log/log.ts';
import { createRealRuntime } from '../../src/runtime/real-runtime.ts';
import { shadowFrom } from '../../src/shadow/shadow-data.ts';
import { type Shadow, startShadow } from '../../src/shadow/start-shadow.ts';

const ENDPOINTS = 16;
export const SEED = 1;
const BLOCK_TOKENS = 64;
/** Ten blocks per prompt, five of them new: every index is full after a fifth of the run. */
const BLOCKS = 10;
const FAMILIES = 500;
/** A decision core with these shadows and their capture recorder; without any, no subscriber. */
export function startCore(names: readonly string[]): {
  readonly picker: EndpointPicker;
  readonly shadows: readonly Shadow[];
} {
  const runtime = createRealRuntime({ seed: SEED });
  const catalogue = EMBEDDED_CATALOGUE;
  const plan = loadConfig({
    text: NAMED_CONFIGS.get('default') ?? '',
    source: 'bench',
    catalogue: { ...catalogue, dataSources: catalogue.dataSources.map(withoutNetwork) },
  });
  const start = (capture?: CaptureRecorder): EndpointPicker =>
    new EndpointPicker({ plan, runtime, subscribers: capture === undefined ? [] : [capture] });
  const { picker, capture } =
    names.length === 0
      ? { picker: start(), capture: undefined }
      : startCapture({ plan, seed: SEED }, start);
  const log = createLog('warn');
  const shadows = names.map((name) => {
    const initialRecords = (): Uint8Array =>
      capture?.begin(picker.pool.snapshot()) ?? new Uint8Array();
    const drain = (): void => capture?.drain();
    const { clock } = runtime;
    const shadow = startShadow({ ...shadowFrom(name), name, initialRecords, drain, clock, log });
    capture?.listen(shadow.receive);
    return shadow;
  });
  for (let at = 0; at < ENDPOINTS; at++) {
    const id = `10.0.0.${at}:8000` as EndpointId;
    picker.pool.upsert({ id, address: id, labels: new Map() });
    picker.pool.set(id, CACHE_CONFIG, { blockTokens: 16, blocks: 20_000 });
  }
  return { picker, shadows };
}

/** Gives each endpoint a new sample. */
export function sampleEndpoints(picker: EndpointPicker): void {
  const now = performance.now();
  for (const { id } of picker.pool.snapshot()) {
    const waitingQueueSize = Math.round(now) % 3;
    const metrics = { waitingQueueSize, runningRequests: 12, kvCacheUsage: 0.3, sampledAt: now };
    picker.pool.observe(id, metrics);
  }
}

/** `drawn` in [0, 1) selects the family of prompts that share the first half. */
export function makeRequest(n: number, drawn: number): InferenceRequest {
  const family = Math.floor(drawn * FAMILIES);
  const ids = Array.from({ length: BLOCKS }, (_, at) =>
    at < BLOCKS / 2 ? `f${family}-${at}` : `r${n}-${at}`,
  );
  return {
    id: `r${n}`,
    // Model names that do not recur, and more of them than are counted separately.
    model: n % 100 === 0 ? `m${n}` : 'm',
    streaming: true,
    outputTokensMax: 128,
    promptTokens: BLOCKS * BLOCK_TOKENS,
    prompt: chainBlockIds(ids, { seedText: 'm', blockTokens: BLOCK_TOKENS }),
    priority: 0,
    fairnessId: `tenant ${n % 20_000}`,
    objective: undefined,
    ttftSloMs: undefined,
    tpotSloMs: undefined,
    headers: new Map(),
    bodyBytes: 3000,
  };
}
