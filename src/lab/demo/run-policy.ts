import { request } from 'undici';
import type { CompletionTarget } from '../replay/completion-target.ts';
import { createCompletionTarget, SERVED_BY_HEADER } from '../replay/completion-target.ts';
import type { OpenLoopResult } from '../replay/open-loop.ts';
import { sendWorkload } from '../replay/replay-to.ts';
import type { TraceRequest } from '../traces/trace.ts';
import type { DemoWorkload } from './demo-workload.ts';
import { startLivePath } from './live-path.ts';
import { type PolicyResult, policyResult } from './policy-result.ts';

export interface RunPolicyOptions {
  /** Name or file of a configuration. */
  readonly policy: string;
  /** Number of model-server stubs. */
  readonly stubs: number;
  readonly workload: DemoWorkload;
  /** Path of Envoy's binary. Without it the embedded gateway takes Envoy's place. */
  readonly envoy: string | undefined;
  readonly signal: AbortSignal;
  /** Receives the number of requests sent so far, those of the warm-up included. */
  readonly onProgress: (sent: number) => void;
}

const MODEL = 'stub-model';
/** All runs have this seed, so that they differ by their policy only. */
const SEED = 1;
const TIMEOUT_MS = 600_000;

/** Sends the workload through new engines, picker and gateway. Throws if one does not start. */
export async function runPolicy(options: RunPolicyOptions): Promise<PolicyResult> {
  const { policy, stubs, envoy, signal } = options;
  const stubArgs = ['--count', String(stubs), '--port', '0', '--model', MODEL];
  const path = await startLivePath({
    stubArgs: [...stubArgs, '--seed', String(SEED)],
    config: policy,
    seed: SEED,
    envoy,
    signal,
  });
  const target = createCompletionTarget({
    url: new URL(path.url),
    api: 'completions',
    headers: {},
    servedByHeader: SERVED_BY_HEADER,
  });
  try {
    return await measure(options, target, path.endpoints);
  } finally {
    await target.close();
    await path.stop();
  }
}

async function measure(
  { policy, workload, signal, onProgress }: RunPolicyOptions,
  target: CompletionTarget,
  endpoints: readonly string[],
): Promise<PolicyResult> {
  const { warmUp, measured, blockTokens } = workload;
  const send = async (
    requests: readonly TraceRequest[],
    firstIndex: number,
    { cutAfterFirstTokens }: { readonly cutAfterFirstTokens: boolean },
  ): Promise<OpenLoopResult> => {
    const run = await sendWorkload(
      { requests, blockTokens },
      {
        target,
        modelOf: () => MODEL,
        salt: 'demo',
        firstIndex,
        concurrencyMax: Number.POSITIVE_INFINITY,
        timeoutMs: TIMEOUT_MS,
        cutAfterFirstTokens,
        signal,
        onProgress: ({ due }) => onProgress(firstIndex + due),
      },
    );
    signal.throwIfAborted();
    return run;
  };
  await send(warmUp, 0, { cutAfterFirstTokens: false });
  const before = await readPrefixCounters(endpoints);
  const run = await send(measured, warmUp.length, { cutAfterFirstTokens: true });
  const after = await readPrefixCounters(endpoints);
  const queried = after.queriedTokens - before.queriedTokens;
  const prefixHitRate = queried === 0 ? 0 : (after.hitTokens - before.hitTokens) / queried;
  return policyResult({ policy, run, prefixHitRate, endpoints: endpoints.length });
}

/** Sums vLLM's prefix-cache counters over the metrics pages of the pool. */
async function readPrefixCounters(
  addresses: readonly string[],
): Promise<{ readonly queriedTokens: number; readonly hitTokens: number }> {
  const pages = await Promise.all(
    addresses.map(async (address) => (await request(`http://${address}/metrics`)).body.text()),
  );
  const total = (name: string): number =>
    pages.reduce((before, page) => before + sampleOf(page, name), 0);
  return {
    queriedTokens: total('vllm:prefix_cache_queries_total'),
    hitTokens: total('vllm:prefix_cache_hits_total'),
  };
}

function sampleOf(page: string, name: string): number {
  const line = page.split('\n').find((each) => each.startsWith(name));
  if (line === undefined) throw new Error(`the stub's metrics page has no ${name}`);
  return Number(line.slice(line.lastIndexOf(' ') + 1));
}
