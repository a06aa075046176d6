import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Document } from 'yaml';
import { envoyBinary, eventually, type Stack, startStack } from '../../bench/support/stack.ts';
import { SERVING_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { PickerPlan } from '../../src/picker/plan/picker-plan.ts';
import { stubOptions } from '../../stub-server/options/stub-options.ts';
import { type StubPool, startStubPool } from '../../stub-server/pool.ts';
import { setKnownEndpoints } from '../support/known-endpoints.ts';

/** deploy/envoy-fallbacks.yaml with three servers, of which one fails. */

const binary = await envoyBinary();
const SERVERS = 3;

/** Every server is the first choice of each third request. */
const planWith = (ejection: boolean): PickerPlan =>
  loadConfig({
    source: 'test',
    catalogue: SERVING_CATALOGUE,
    text: `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
  - type: round-robin-scorer
  - type: max-score-picker
    parameters: { maxNumOfEndpoints: 3 }
ejection: { enabled: ${ejection} }
`,
  });

interface Described {
  readonly address: string;
  readonly ejected: false | { readonly reason: string };
  readonly inFlight: { readonly requests: number };
}

describe.skipIf(binary === undefined)('Envoy with fallbacks', () => {
  let pool: StubPool;
  let stack: Stack;
  const addressOf = (at: number): string => pool.endpoints[at]?.address ?? '';

  async function start(ejection: boolean): Promise<void> {
    const endpoints = pool.endpoints.map(({ address }) => address);
    const edit = (document: Document): void => setKnownEndpoints(document, endpoints);
    const serve = { plan: planWith(ejection) };
    stack = await startStack(binary ?? '', { envoy: 'envoy-fallbacks', endpoints, serve, edit });
  }

  async function described(): Promise<readonly Described[]> {
    const url = `http://127.0.0.1:${stack.serving.metricsPort}/debug/endpoints`;
    return ((await (await fetch(url)).json()) as { endpoints: readonly Described[] }).endpoints;
  }

  const complete = async (prompt: string): Promise<number> => {
    const body = JSON.stringify({ model: 'm', prompt, max_tokens: 2, stream: true });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${stack.url}/v1/completions`, { method: 'POST', headers, body });
    await response.text();
    return response.status;
  };

  const setFault = (at: number, fault: object): Promise<Response> =>
    fetch(`http://${addressOf(at)}/stub/faults`, { method: 'POST', body: JSON.stringify(fault) });

  beforeAll(async () => {
    const options = { count: SERVERS, port: 0, speed: 10, model: 'm' };
    pool = await startStubPool(stubOptions.parse(options));
  });
  afterAll(async () => pool?.stop());

  it.each([
    ['refuses connections or cuts them', { kind: 'refuse' }],
    ['answers 503', { kind: 'error', status: 503 }],
    ['is a sidecar that answers 502', { kind: 'error', status: 502 }],
  ])(
    '[V133] [V517] no request fails because its first choice %s, and no reservation is left',
    async (_, fault) => {
      await start(false);
      try {
        await setFault(0, fault);
        const statuses = [];
        for (let sent = 0; sent < 30; sent++) statuses.push(await complete(`prompt ${sent}`));
        expect(statuses).toEqual(statuses.map(() => 200));
        await eventually(described, (all) => all.every(({ inFlight }) => inFlight.requests === 0));
      } finally {
        await fetch(`http://${addressOf(0)}/stub/faults`, { method: 'DELETE' });
        await stack.stop();
      }
    },
  );

  it('[V133] the endpoint that is not reached is ejected, because Envoy names the endpoint that served', async () => {
    await start(true);
    try {
      await setFault(1, { kind: 'refuse' });
      // The first reason: a trial of the endpoint, some time later, fails for another one. Many at a
      // time, because its scrapes fail, too, and after those it gets no more requests.
      let ejected: Described['ejected'] = false;
      for (let sent = 0; sent < 120 && ejected === false; sent += 30) {
        const prompts = Array.from({ length: 30 }, (_, at) => `prompt ${sent + at}`);
        const statuses = await Promise.all(prompts.map(complete));
        expect(new Set(statuses)).toEqual(new Set([200]));
        const all = await described();
        ejected = all.find(({ address }) => address === addressOf(1))?.ejected ?? false;
      }
      expect(ejected).toMatchObject({ reason: 'not-reached' });
    } finally {
      await stack.stop();
    }
  });
});
