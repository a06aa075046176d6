import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { envoyBinary, eventually, type Stack, startStack } from '../../bench/support/stack.ts';
import { startUpstream, type Upstream } from '../support/servers/upstream.ts';

/** Requests through a real Envoy wait at the picker for a server that takes one at a time. */

const CONFIG = `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
featureGates: [flowControl]
plugins:
- type: queue-scorer
- type: round-robin-fairness-policy
- type: concurrency-detector
  parameters: {maxConcurrency: 1}
flowControl:
  maxRequests: 4
  enableEviction: true
  saturationDetector: {pluginRef: concurrency-detector}
  defaultPriorityBand: {fairnessPolicyRef: round-robin-fairness-policy}
  priorityBands:
  - {priority: -5, maxRequests: 1}
schedulingProfiles:
- name: default
  plugins: [{pluginRef: queue-scorer}]
`;

const binary = await envoyBinary();

interface Sent {
  readonly id: string;
  readonly objective?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

describe.skipIf(binary === undefined).each([0, 2])(
  'flow control behind Envoy with %i I/O workers',
  (ioWorkers) => {
    const folder = mkdtempSync(join(tmpdir(), 'pointsman-flow-'));
    const endpointsFile = join(folder, 'endpoints.json');
    const open = new Map<string, ServerResponse>();
    const order: string[] = [];
    let upstream: Upstream;
    let stack: Stack;

    const list = (addresses: readonly string[]): void =>
      writeFileSync(
        endpointsFile,
        JSON.stringify({
          endpoints: addresses.map((text) => {
            const [address, port] = text.split(':');
            return { name: 'pod', address, port };
          }),
          objectives: { high: 10, low: -5 },
        }),
      );

    beforeAll(async () => {
      const config = join(folder, 'config.yaml');
      writeFileSync(config, CONFIG);
      upstream = await startUpstream();
      upstream.answer(({ headers }, response) => {
        const id = String(headers['x-test']);
        order.push(id);
        open.set(id, response);
      });
      list([upstream.address]);
      const serve = { endpointsFile, trustClientControls: true, ioWorkers };
      stack = await startStack(binary ?? '', { envoy: 'envoy', endpoints: [], config, serve });
    });
    afterEach(async () => {
      for (const id of open.keys()) answer(id);
      await eventually(
        () => stack.inFlight(),
        (requests) => requests === 0,
      );
      order.length = 0;
    });
    afterAll(async () => {
      await stack?.stop();
      await upstream?.stop();
      rmSync(folder, { recursive: true });
    });

    function send({ id, objective, headers = {} }: Sent, signal?: AbortSignal): Promise<Response> {
      return fetch(`${stack.url}/v1/completions`, {
        method: 'POST',
        body: JSON.stringify({ model: 'm', prompt: id }),
        headers: {
          'content-type': 'application/json',
          'x-test': id,
          ...(objective !== undefined && { 'x-llm-d-inference-objective': objective }),
          ...headers,
        },
        ...(signal !== undefined && { signal }),
      });
    }

    function answer(id: string): void {
      open.get(id)?.end('{"ok":true}');
      open.delete(id);
    }

    const page = async (): Promise<string> =>
      (await fetch(`http://127.0.0.1:${stack.serving.metricsPort}/metrics`)).text();
    const metric = async (name: string, ...labels: readonly string[]): Promise<number> =>
      (await page())
        .split('\n')
        .filter(
          (line) => line.startsWith(`${name}{`) && labels.every((each) => line.includes(each)),
        )
        .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
    const waiting = (): Promise<number> => metric('llm_d_epp_flow_control_queue_size');
    const received = (id: string): Promise<unknown> => eventually(() => open.has(id), Boolean);
    const left = (outcome: string): Promise<number> =>
      metric('llm_d_epp_flow_control_requests_total', `outcome="${outcome}"`);
    const reasonOf = (response: Response): string | null =>
      response.headers.get('x-llm-d-request-dropped-reason');

    test('[D460] the priority of each objective has a band before its first request', async () => {
      const lines = (await page()).split('\n');
      const name = 'llm_d_epp_flow_control_capacity_utilization_requests{';
      const bands = lines.filter((line) => line.startsWith(name));
      expect(bands.map((line) => /priority="(.*?)"/.exec(line)?.[1])).toEqual(['10', '0', '-5']);
    });

    test('[Q65] requests wait for the server, and leave by priority and by fairness id', async () => {
      const first = send({ id: 'first' });
      await received('first');
      const flow = (name: string) => ({ 'x-llm-d-inference-fairness-id': name });
      const others: Promise<Response>[] = [];
      for (const [count, sent] of [
        { id: 'a1', headers: flow('a') },
        { id: 'a2', headers: flow('a') },
        { id: 'b1', headers: flow('b') },
        { id: 'high', objective: 'high' },
      ].entries()) {
        others.push(send(sent));
        await eventually(waiting, (requests) => requests === count + 1);
      }
      expect(await metric('llm_d_epp_flow_control_pool_saturation', 'stage="effective"')).toBe(1);
      const beyond = await send({ id: 'beyond' });
      expect([beyond.status, reasonOf(beyond)]).toEqual([429, 'rejected-saturated']);
      for (const id of ['first', 'high', 'a1', 'b1', 'a2']) {
        await received(id);
        answer(id);
      }
      expect((await Promise.all([first, ...others])).map(({ status }) => status)).toEqual([
        200, 200, 200, 200, 200,
      ]);
      expect(order).toEqual(['first', 'high', 'a1', 'b1', 'a2']);
      expect(await left('Dispatched')).toBe(5);
      expect(await left('RejectedCapacity')).toBe(1);
      expect(await waiting()).toBe(0);
    });

    test('[D360] a request without a body is served while others wait, and is not counted', async () => {
      const busy = send({ id: 'busy' });
      await received('busy');
      const next = send({ id: 'next' });
      await eventually(waiting, (requests) => requests === 1);
      const dispatched = await left('Dispatched');
      const models = fetch(`${stack.url}/v1/models`, { headers: { 'x-test': 'models' } });
      await received('models');
      expect(await stack.inFlight()).toBe(1);
      answer('models');
      expect((await models).status).toBe(200);
      expect([await waiting(), await left('Dispatched')]).toEqual([1, dispatched]);
      answer('busy');
      await received('next');
      answer('next');
      await Promise.all([busy, next]);
    });

    test('[O439] explain says why a request waited and what let it go, or why it was refused', async () => {
      const explained = async (id: string): Promise<unknown> =>
        (
          await fetch(`http://127.0.0.1:${stack.serving.metricsPort}/debug/explain?id=${id}`)
        ).json();
      const named = (id: string): Sent => ({ id, headers: { 'x-request-id': `explained-${id}` } });
      void send({ id: 'busy' });
      await received('busy');
      const held = send(named('held'));
      await eventually(waiting, (requests) => requests === 1);
      const came = { endpoints: 1, saturation: 1, ceiling: 1, samePriority: 0 };
      expect(await explained('explained-held')).toMatchObject({ flowControl: { came } });
      const others = ['x', 'y', 'z'].map((id) => send({ id }));
      await eventually(waiting, (requests) => requests === 4);
      expect((await send(named('beyond'))).status).toBe(429);
      const full = 'the queue is full: it holds at most 4 requests in all bands';
      expect(await explained('explained-beyond')).toMatchObject({
        flowControl: { left: { kind: 'refused', status: 429, why: full } },
      });
      answer('busy');
      await received('held');
      expect(await explained('explained-held')).toMatchObject({
        outcome: { kind: 'picked' },
        flowControl: { came, left: { kind: 'let-go', after: expect.arrayContaining(['end']) } },
      });
      for (const id of ['held', 'x', 'y', 'z']) {
        await received(id);
        answer(id);
      }
      await Promise.all([held, ...others]);
    });

    test('[Q66] a request that has waited too long is refused with its reason', async () => {
      void send({ id: 'busy' });
      await received('busy');
      const late = await send({ id: 'late', headers: { 'x-llm-d-inference-ttl': '200ms' } });
      expect([late.status, reasonOf(late)]).toEqual([429, 'rejected-ttl-expired']);
      expect(await left('EvictedTTL')).toBe(1);
      expect(order).toEqual(['busy']);
    });

    test('[Q67] a client that goes away leaves the queue', async () => {
      void send({ id: 'held' });
      await received('held');
      const client = new AbortController();
      const gone = send({ id: 'gone' }, client.signal).catch(() => 'aborted');
      await eventually(waiting, (requests) => requests === 1);
      client.abort();
      expect(await gone).toBe('aborted');
      await eventually(waiting, (requests) => requests === 0);
      expect(await left('EvictedContextCancelled')).toBe(1);
      answer('held');
      await eventually(
        () => stack.inFlight(),
        (requests) => requests === 0,
      );
      expect(order).toEqual(['held']);
    });

    test('[Q68] a request of low priority ends for one of a higher priority', async () => {
      const low = send({ id: 'low', objective: 'low' });
      await received('low');
      const urgent = send({ id: 'urgent' });
      const ended = await low;
      expect([ended.status, reasonOf(ended)]).toEqual([429, 'evicted']);
      await received('urgent');
      answer('urgent');
      expect((await urgent).status).toBe(200);
      expect(await metric('llm_d_epp_flow_control_revocations_issued_total')).toBe(1);
    });

    test('[Q61] requests wait for the first endpoint of an empty pool', async () => {
      list([]);
      await eventually(
        async () =>
          (await fetch(`http://127.0.0.1:${stack.serving.metricsPort}/debug/endpoints`)).text(),
        (text) => (JSON.parse(text) as { endpoints: unknown[] }).endpoints.length === 0,
      );
      const early = [send({ id: 'early1' }), send({ id: 'early2' })];
      await eventually(waiting, (requests) => requests === 2);
      list([upstream.address]);
      await eventually(
        () => open.size,
        (size) => size === 1,
      );
      expect(await waiting()).toBe(1);
      for (const id of order) answer(id);
      await eventually(
        () => order.length,
        (count) => count === 2,
      );
      for (const id of order) answer(id);
      expect((await Promise.all(early)).map(({ status }) => status)).toEqual([200, 200]);
    });
  },
);
