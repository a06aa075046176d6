import { expect, it } from 'vitest';
import { answeredResult } from '../../../test/support/answered-result.ts';
import { createPicker } from '../../index.ts';
import { curvesOf } from '../run-summary/curves.ts';
import { ResultTable } from '../run-summary/result-table.ts';
import { summarize } from '../run-summary/summarize.ts';
import type { TraceRequest } from '../traces/trace.ts';
import { type PoolSpec, presetServer } from './pool-spec.ts';
import { simulate } from './simulate.ts';

const SERVER = presetServer('llama-3.1-8b-h100');
const POOL: PoolSpec = {
  servers: ['prefill', 'decode'].map((role) => ({
    ...SERVER,
    id: role,
    jitter: 0,
    labels: { 'llm-d.ai/role': role },
  })),
  faults: [],
};
/** Has every prompt computed by the prefilling server. */
const CONFIG = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
  - { type: disagg-profile-handler, parameters: { deciders: { prefill: always-disagg-pd-decider } } }
  - type: always-disagg-pd-decider
  - type: prefill-filter
  - type: decode-filter
  - type: max-score-picker
schedulingProfiles:
  - { name: prefill, plugins: [{ pluginRef: prefill-filter }, { pluginRef: max-score-picker }] }
  - { name: decode, plugins: [{ pluginRef: decode-filter }, { pluginRef: max-score-picker }] }
`;
const [TOKENS, ANSWER, BLOCK] = [640, 10, 64];

/** Prompts of ten blocks, far apart, of which the first so many are the same in all. */
function prompts(count: number, shared: number): readonly TraceRequest[] {
  return Array.from({ length: count }, (_, n) => ({
    atMs: 1000 * n,
    model: 'm',
    promptTokens: TOKENS,
    outputTokens: ANSWER,
    blockIds: Array.from({ length: TOKENS / BLOCK }, (_, at) => (at < shared ? at : 100 * n + at)),
  }));
}

it('[G301] of a prompt that another server computes, what that had cached is found, and what it computed is its work', () => {
  const requests = prompts(4, 5);
  const workload = { blockTokens: BLOCK, requests };
  const result = simulate({ workload, pool: POOL, config: CONFIG, createPicker, seed: 1 });
  // Three of four prompts find five of their ten blocks.
  expect(summarize(result).hitRate).toBeCloseTo(15 / 40, 6);
  const { load, hitRate } = curvesOf(result, POOL);
  const [computed, generated] = load.map((row) => row.reduce((sum, each) => sum + each, 0));
  expect(computed).toBe(25 * BLOCK);
  // The server that answers computes the last token of each prompt again.
  expect(generated).toBe(4 * ANSWER + 4);
  expect(hitRate.filter((share) => !Number.isNaN(share))).toEqual([0, 0.5, 0.5, 0.5]);
});

it('[G301] results in columns keep which server computed a prompt', () => {
  const { requests } = simulate({
    workload: { blockTokens: BLOCK, requests: prompts(3, 5) },
    pool: POOL,
    config: CONFIG,
    createPicker,
    seed: 1,
  });
  const table = new ResultTable(requests.length + 1);
  requests.forEach((each, row) => table.keep(row, each));
  table.keep(requests.length, answeredResult(ANSWER));
  expect([...table].map(({ prefill }) => prefill)).toEqual([
    ...requests.map(({ prefill }) => prefill),
    undefined,
  ]);
  expect(table.at(1)?.prefill).toEqual({ server: 0, cachedTokens: 5 * BLOCK });
});
