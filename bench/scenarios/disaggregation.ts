import type { PoolSpec } from '../../src/lab/simulate/pool-spec.ts';
import type { TraceRequest } from '../../src/lab/traces/trace.ts';
import type { Workload } from '../../src/lab/traces/workload.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { logNormal } from './arrivals.ts';
import { mixedPool, presetServer } from './pools.ts';

const BLOCK_TOKENS = 64;

/** Pools of eight servers that can prefill elsewhere: on dedicated servers, or on any. */
export const DISAGGREGATED_POOLS: ReadonlyMap<string, () => PoolSpec> = new Map([
  ['2 prefill, 6 decode', () => splitPool(2, 6)],
  ['4 prefill, 4 decode', () => splitPool(4, 4)],
  ['8 that do both', () => mixedPool([[8, presetServer('llama-3.1-8b-h100')]])],
]);

export function splitPool(prefill: number, decode: number): PoolSpec {
  const server = presetServer('llama-3.1-8b-h100');
  return mixedPool([
    [prefill, { ...server, labels: { 'llm-d.ai/role': 'prefill' } }],
    [decode, { ...server, labels: { 'llm-d.ai/role': 'decode' } }],
  ]);
}

/** Requests with answers of 200 tokens; `promptTokens` is a mean, and prompts share nothing. */
export function longPrompts(
  seed: number,
  {
    perSecond,
    promptTokens,
    requests,
  }: Readonly<Record<'perSecond' | 'promptTokens' | 'requests', number>>,
): Workload {
  const random = seededRandom(seed).fork('long prompts');
  let atMs = 0;
  let nextBlock = 0;
  const drawn = Array.from({ length: requests }, (): TraceRequest => {
    atMs += (-Math.log(1 - random.next()) * 1000) / perSecond;
    // A log-normal's mean is its median times e^(spread²/2).
    const tokens = Math.max(64, Math.round(logNormal(random, 0.73 * promptTokens, 0.8)));
    const outputTokens = Math.max(1, Math.round(logNormal(random, 157, 0.7)));
    const blockIds = Array.from({ length: Math.floor(tokens / BLOCK_TOKENS) }, () => nextBlock++);
    return { atMs, model: '', promptTokens: tokens, outputTokens, blockIds };
  });
  return { blockTokens: BLOCK_TOKENS, requests: drawn };
}

const PROFILES = `schedulingProfiles:
- name: prefill
  plugins:
  - {pluginRef: prefill-or-any}
  - {pluginRef: predicted-cost-scorer}
- name: decode
  plugins:
  - {pluginRef: decode-filter}
  - {pluginRef: predicted-cost-scorer}
  - {pluginRef: active-request-scorer}
`;

/** For whole answers decoders should be evenly full; for first tokens: docs/disaggregation.md. */
const EVENLY_FULL = '  - {pluginRef: active-request-scorer}\n';

/** Prompts computed locally, always elsewhere, or where it costs less by either objective. */
export const DISAGGREGATION_CONFIGS: Readonly<Record<string, string>> = {
  local: config('', ''),
  split: config('- type: always-disagg-pd-decider\n', 'always-disagg-pd-decider'),
  endToEnd: config('- type: cost-pd-decider\n', 'cost-pd-decider'),
  firstToken: config(
    '- type: cost-pd-decider\n  parameters: {objective: first-token}\n',
    'cost-pd-decider',
  ).replace(EVENLY_FULL, ''),
};

function config(decider: string, name: string): string {
  const deciders = name === '' ? '' : `\n  parameters: {deciders: {prefill: ${name}}}`;
  return `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
${decider}- type: disagg-profile-handler${deciders}
- type: by-label
  name: prefill-or-any
  parameters: {label: llm-d.ai/role, validValues: [prefill, both], allowsNoLabel: true}
- type: decode-filter
- type: predicted-cost-scorer
- type: active-request-scorer
${PROFILES}`;
}
