import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pickOf, startScriptedPicker } from '../../test/support/grpc/scripted-picker.ts';
import { gatewayBefore } from '../../test/support/servers/gateway-before.ts';
import { inertRouted } from '../../test/support/session/inert-routed.ts';
import { startReservingServer } from '../../test/support/session/reserving-server.ts';
import {
  type ScriptedServer,
  startScriptedServer,
  type Visit,
} from '../../test/support/sidecar/scripted-server.ts';
import { UnsteadyClock } from '../../test/support/unsteady-clock.ts';
import type { Outcome } from '../framework/observer.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import { CutAnswers } from './cut-answers.ts';
import type { AccessLogMessage } from './ext-proc-client.ts';
import type { Gateway } from './start-gateway.ts';

const stops: (() => Promise<void> | void)[] = [];
let endpoint: ScriptedServer;
beforeEach(async () => {
  endpoint = await startScriptedServer();
  stops.push(() => endpoint.stop());
});
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function start(extProcPort: number): Promise<Gateway> {
  const gateway = await gatewayBefore(extProcPort, { clock: new SimulatedClock() });
  stops.push(() => gateway.stop());
  return gateway;
}

interface Begun {
  readonly visit: Visit;
  /** Resolves when the answer has ended, or rejects where it is broken off. */
  readonly rest: Promise<unknown>;
  leave(): void;
}

/** A request whose answer has begun. */
async function begin(gateway: Gateway, headers: Record<string, string> = {}): Promise<Begun> {
  const leaving = new AbortController();
  const answer = fetch(`http://127.0.0.1:${gateway.port}/v1/completions`, {
    method: 'POST',
    headers,
    body: '{"model":"m","prompt":"hello"}',
    signal: leaving.signal,
  });
  const visit = await endpoint.next();
  visit.response.write('1');
  const reader = (await answer).body?.getReader();
  await reader?.read();
  const rest = Promise.resolve(reader?.read());
  rest.catch(() => undefined);
  return { visit, rest, leave: () => leaving.abort() };
}

describe('an answer behind the embedded gateway', () => {
  /** Resolves to the outcome of the next request that ends. */
  let ended: () => Promise<Outcome>;
  let gateway: Gateway;

  beforeEach(async () => {
    let onDone: (outcome: Outcome) => void = () => undefined;
    ended = () => new Promise((resolve) => void (onDone = resolve));
    const destinations = [endpoint.address];
    const picker = await startReservingServer(undefined, {
      route: (request) =>
        inertRouted({ request, destinations, done: (outcome) => onDone(outcome) }),
    });
    stops.push(() => picker.drain({ noticeMs: 0, deadlineMs: 0 }));
    gateway = await start(picker.port);
  });

  it.each([
    ['has no id', {}],
    ['has an empty id', { 'x-request-id': '' }],
    ['has an id of its client', { 'x-request-id': 'one' }],
  ])(
    '[V498] that its endpoint breaks off is a failure, where the request %s',
    async (_, headers) => {
      for (let time = 0; time < 2; time++) {
        const { visit, rest } = await begin(gateway, headers);
        const outcome = ended();
        visit.response.destroy();
        await expect(rest).rejects.toThrow();
        expect(await outcome).toBe('failed');
      }
    },
  );

  it('[V498] that its client leaves is none, nor is the next one at the endpoint', async () => {
    const [left, cut] = [await begin(gateway), await begin(gateway)];
    const first = ended();
    left.leave();
    expect(await first).toBe('aborted');
    const second = ended();
    cut.visit.response.destroy();
    expect(await second).toBe('failed');
    const whole = await begin(gateway);
    const third = ended();
    whole.visit.response.end();
    await whole.rest;
    expect(await third).toBe('completed');
  });
});

it('[V498] a request without an id gets one from the gateway, and one with an id keeps it', async () => {
  const picker = await startScriptedPicker(endpoint.address);
  stops.push(() => picker.stop());
  const gateway = await start(picker.port);
  const { visit } = await begin(gateway);
  expect(visit.headers['x-request-id']).toMatch(/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/);
  const { visit: named } = await begin(gateway, { 'x-request-id': 'mine' });
  expect(named.headers['x-request-id']).toBe('mine');
});

it('[V499] a picker that takes no access log learns at once that the request has ended', async () => {
  const picker = await startScriptedPicker(endpoint.address);
  stops.push(() => picker.stop());
  const over = Promise.withResolvers<void>();
  picker.script((input, stream) => {
    if (input.request_headers !== undefined) stream.once('cancelled', () => over.resolve());
    pickOf(endpoint.address)(input, stream);
  });
  const { visit, rest } = await begin(await start(picker.port));
  visit.response.destroy();
  await expect(rest).rejects.toThrow();
  await over.promise;
});

describe('reports of cut answers', () => {
  /** A call as its picker sees it. */
  interface SeenCall {
    readonly ids: string[];
    cancelled: boolean;
    readonly answer: () => void;
  }
  let calls: SeenCall[];
  let clock: UnsteadyClock;
  let cutAnswers: CutAnswers;
  /** Of the reports that are done, in their order. */
  let done: string[];

  beforeEach(() => {
    [calls, done, clock] = [[], [], new UnsteadyClock(seededRandom(1))];
    clock.pace = 'still';
    const accessLog = (onOver: () => void) => {
      const call: SeenCall = { ids: [], cancelled: false, answer: onOver };
      calls.push(call);
      const write = ({ http_logs }: AccessLogMessage): boolean => {
        call.ids.push(...http_logs.log_entry.map(({ request }) => request.request_id));
        return true;
      };
      const cancel = (): void => {
        call.cancelled = true;
        onOver();
      };
      return { write, end: () => undefined as never, cancel };
    };
    cutAnswers = new CutAnswers({ extProc: { accessLog }, clock });
  });

  const report = async (id: string): Promise<void> => {
    await cutAnswers.report(id);
    done.push(id);
  };
  const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

  it('[V499] that come while a call is open go together in the next one', async () => {
    for (const id of ['a', 'b', 'c']) void report(id);
    expect(calls.map(({ ids }) => ids)).toEqual([['a']]);
    calls[0]?.answer();
    await turn();
    expect(done).toEqual(['a']);
    expect(calls.map(({ ids }) => ids)).toEqual([['a'], ['b', 'c']]);
    calls[1]?.answer();
    await turn();
    expect(done).toEqual(['a', 'b', 'c']);
    void report('d');
    expect(calls[2]?.ids).toEqual(['d']);
  });

  it('[V499] wait for a picker that stands still for a second, and so do the next ones', async () => {
    void report('a');
    void report('b');
    clock.advanceBy(999);
    expect(calls.map(({ cancelled }) => cancelled)).toEqual([false]);
    clock.advanceBy(1);
    await turn();
    expect(done).toEqual(['a']);
    clock.advanceBy(1000);
    await turn();
    expect(done).toEqual(['a', 'b']);
    expect(calls.map(({ cancelled }) => cancelled)).toEqual([true, true]);
  });

  it('[V585] are taken by a picker whose answer came while this process stood still', async () => {
    void report('a');
    clock.pass(60_000);
    clock.advanceBy(0);
    expect(calls[0]?.cancelled).toBe(false);
    calls[0]?.answer();
    await turn();
    expect([done, clock.pending]).toEqual([['a'], 0]);
  });

  it('[V499] beyond 1,000 that wait are left out, and none waits where the gateway ends', async () => {
    void report('open');
    for (let n = 0; n < 1000; n++) void report(String(n));
    await turn();
    expect(done).toEqual([]);
    await report('too many');
    expect(done).toEqual(['too many']);
    cutAnswers.close();
    await turn();
    expect(done.length).toBe(1002);
    await report('late');
    expect(calls.length).toBe(1);
  });
});
