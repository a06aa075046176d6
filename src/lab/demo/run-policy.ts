import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { z } from 'zod';
import { renderEnvoyConfig } from '../envoy/render-config.ts';
import { startEnvoy } from '../envoy/run-envoy.ts';
import { startChildCommand } from './child-command.ts';
import { createCompletionClient } from './completion-client.ts';
import type { Workload } from './demo-workload.ts';
import { readPrefixCounters } from './engine-counters.ts';
import { sendOpenLoop } from './open-loop.ts';
import { type PolicyResult, policyResult } from './policy-result.ts';

export interface RunPolicyOptions {
  /** A built-in configuration's name. */
  readonly policy: string;
  readonly stubs: number;
  readonly workload: Workload;
  /** Envoy's binary; the embedded gateway serves when there is none. */
  readonly envoy: string | undefined;
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
  /** Requests sent so far, the warm-up's among them. */
  readonly onProgress: (sent: number) => void;
}

const MODEL = 'stub-model';
/** All runs draw the same chance. */
const SEED = '1';
const READY_TIMEOUT_MS = 10_000;
const READY_POLL_MS = 20;

const stubDocument = z.object({ endpoints: z.array(z.string()).min(1) });
const gatewayDocument = z.object({ port: z.int() });
const serveDocument = z.object({ extProcPort: z.int(), metricsPort: z.int() });

type Cleanup = () => Promise<void>;

/** Fresh engines, a fresh picker with this policy, a fresh Envoy; the workload through them; all stopped again. */
export async function runPolicy(options: RunPolicyOptions): Promise<PolicyResult> {
  const cleanups: Cleanup[] = [];
  try {
    return await measure(options, cleanups);
  } finally {
    for (const cleanup of cleanups.toReversed()) await cleanup();
  }
}

async function measure(options: RunPolicyOptions, cleanups: Cleanup[]): Promise<PolicyResult> {
  const { policy, workload, signal, onProgress } = options;
  const endpoints = await startStubs(options, cleanups);
  const origin = await startPath(options, endpoints, cleanups);
  const client = createCompletionClient({ origin, model: MODEL });
  cleanups.push(() => client.close());

  const { warmUp, measured } = workload;
  await sendOpenLoop({
    client,
    requests: warmUp,
    signal,
    cutAfterFirstTokens: false,
    onSent: onProgress,
  });
  const before = await readPrefixCounters(endpoints);
  const run = await sendOpenLoop({
    client,
    requests: measured,
    signal,
    cutAfterFirstTokens: true,
    onSent: (sent) => onProgress(warmUp.length + sent),
  });
  const after = await readPrefixCounters(endpoints);
  const queried = after.queriedTokens - before.queriedTokens;
  return policyResult({
    policy,
    run,
    prefixHitRate: queried === 0 ? 0 : (after.hitTokens - before.hitTokens) / queried,
    endpoints: endpoints.length,
  });
}

async function startStubs(
  { stubs, signal }: RunPolicyOptions,
  cleanups: Cleanup[],
): Promise<readonly string[]> {
  signal.throwIfAborted();
  const flags = ['--count', String(stubs), '--port', '0', '--model', MODEL, '--seed', SEED];
  const child = await startChildCommand(['stub', ...flags, '--json']);
  cleanups.push(() => child.stop());
  return stubDocument.parse(child.document).endpoints;
}

/** The picker and what asks it; returns where requests go. */
async function startPath(
  { policy, envoy, signal, log }: RunPolicyOptions,
  endpoints: readonly string[],
  cleanups: Cleanup[],
): Promise<string> {
  signal.throwIfAborted();
  const flags = ['--config', policy, '--endpoints', endpoints.join(','), '--seed', SEED];
  const ports = ['--host', '127.0.0.1', '--extproc-port', '0', '--metrics-port', '0'];
  const rest = ['--insecure', '--drain-timeout-ms', '500', '--log-level', 'warn', '--json'];
  const picker = await startChildCommand(['serve', ...flags, ...ports, ...rest]);
  cleanups.push(() => picker.stop());
  const { extProcPort, metricsPort } = serveDocument.parse(picker.document);
  await untilReady(`http://127.0.0.1:${metricsPort}/readyz`, signal);
  const extProcAddress = `127.0.0.1:${extProcPort}`;
  if (envoy === undefined) {
    const where = ['--host', '127.0.0.1', '--port', '0', '--picker', extProcAddress];
    const gateway = await startChildCommand(['gateway', ...where, '--insecure', '--json']);
    cleanups.push(() => gateway.stop());
    return `http://127.0.0.1:${gatewayDocument.parse(gateway.document).port}`;
  }
  const configYaml = renderEnvoyConfig({ wiring: 'envoy', listenerPort: 0, extProcAddress });
  const proxy = await startEnvoy({ binary: envoy, configYaml, log });
  cleanups.push(() => proxy.stop());
  return `http://127.0.0.1:${proxy.listenerPort}`;
}

async function untilReady(url: string, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  while (performance.now() < deadline) {
    const { statusCode, body } = await request(url, { signal });
    await body.dump();
    if (statusCode === 200) return;
    await sleep(READY_POLL_MS, undefined, { signal });
  }
  throw new Error(`the picker was not ready after ${READY_TIMEOUT_MS} ms: ${url}`);
}
