import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  exampleOrSkip,
  type RunningScheduler,
  startScheduler,
} from '../../bench/support/example-schedulers.ts';
import { envoyBinary, eventually, type Stack, startStack } from '../../bench/support/stack.ts';
import { stubOptions } from '../../stub-server/options/stub-options.ts';
import { type StubPool, startStubPool } from '../../stub-server/pool.ts';
import { tellFigure } from '../support/figure.ts';

/** A remote scheduler is killed, stopped, restarted and made to answer garbage under load. */

const binary = await envoyBinary();
const example = await exampleOrSkip('typescript');
const GARBAGE = [process.execPath, join(import.meta.dirname, '../fixtures/schedulers/garbage.mjs')];
const CLIENTS = 4;
/** Decisions of the scheduler after which it counts as recovered. */
const ENOUGH = 100;

interface Described {
  readonly decided: number;
  readonly ignoredAnswers: number;
  readonly declined: Readonly<Record<string, number>>;
}

describe.skipIf(binary === undefined || example === undefined)(
  'a scheduler in another process, behind a real Envoy',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'pointsman-remote-'));
    const address = `unix:${join(folder, 'scheduler.sock')}`;
    const statuses = new Map<number, number>();
    let scheduler: RunningScheduler;
    let pool: StubPool;
    let stack: Stack;
    let clients: Promise<unknown>;
    let over = false;

    beforeAll(async () => {
      const config = join(folder, 'remote.yaml');
      writeFileSync(config, CONFIG(address));
      scheduler = await startScheduler(example ?? [], address);
      pool = await startStubPool(stubOptions.parse({ count: 6, port: 0, speed: 10, model: 'm' }));
      const endpoints = pool.endpoints.map((endpoint) => endpoint.address);
      stack = await startStack(binary ?? '', { envoy: 'envoy', endpoints, config });
      clients = Promise.all(Array.from({ length: CLIENTS }, client));
    });
    afterAll(async () => {
      over = true;
      await clients;
      await stack?.stop();
      await pool?.stop();
      await scheduler?.stop();
      rmSync(folder, { recursive: true });
    });

    async function client(): Promise<void> {
      for (let sent = 0; sent < 50_000 && !over; sent++) {
        const body = JSON.stringify({ model: 'm', prompt: `number ${sent}`, max_tokens: 2 });
        const headers = { 'content-type': 'application/json' };
        const response = await fetch(`${stack.url}/v1/completions`, {
          method: 'POST',
          headers,
          body,
        });
        await response.text();
        statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      }
    }

    const described = async (): Promise<Described> => {
      const url = `http://127.0.0.1:${stack.serving.metricsPort}/debug/scheduler`;
      return (await (await fetch(url)).json()) as Described;
    };
    const isBack = async (): Promise<void> => {
      const { decided } = await described();
      await eventually(described, (now) => now.decided >= decided + ENOUGH, 2400);
    };
    const declines = async (...reasons: readonly string[]): Promise<void> => {
      const { declined } = await described();
      const more = (now: Described, reason: string): boolean =>
        (now.declined[reason] ?? 0) > (declined[reason] ?? 0);
      // This takes a dozen wrong answers, some of which close the stream, on a busy machine.
      await eventually(described, (now) => reasons.every((reason) => more(now, reason)), 2400);
    };

    it('[R2] decides', () => isBack());

    it('[R7] is killed, and decides again after a restart', async () => {
      scheduler.process.kill('SIGKILL');
      await declines('disconnected');
      await scheduler.stop();
      scheduler = await startScheduler(example ?? [], address);
      await isBack();
    });

    it('[R3] [R6] is stopped: the picker waits until the deadline, then asks no more, then asks again', async () => {
      scheduler.process.kill('SIGSTOP');
      await declines('deadline', 'breaker-open');
      scheduler.process.kill('SIGCONT');
      await isBack();
    });

    it('[R4] [R8] answers garbage, which has no effect', async () => {
      scheduler.process.kill('SIGKILL');
      const stopped = scheduler;
      scheduler = await startScheduler(GARBAGE, address);
      await stopped.stop();
      await declines('not-a-candidate', 'bad-score', 'bad-header', 'deadline', 'disconnected');
      await scheduler.stop();
      scheduler = await startScheduler(example ?? [], address);
      await isBack();
    });

    it('fails no request in all these tests', async (context) => {
      over = true;
      await clients;
      const sent = [...statuses.values()].reduce((sum, count) => sum + count, 0);
      tellFigure(context, {
        what: `${sent} requests through a real Envoy while their scheduler is killed, stopped and answers garbage`,
        promised: '0 failed',
        measured: `${sent - (statuses.get(200) ?? 0)} failed`,
      });
      expect([...statuses.keys()]).toEqual([200]);
    });
  },
);

const CONFIG = (address: string): string => `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
scheduler:
  type: remote
  address: ${address}
  # Clients, Envoy, servers, picker and scheduler share the machine with other work.
  deadlineMs: 1000
`;
