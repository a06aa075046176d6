import { loadSync, type MethodDefinition, type ServiceDefinition } from '@grpc/proto-loader';
import { describe, expect, it } from 'vitest';
import { makeEndpoint, makeRequest } from '../../test/makers.ts';
import { packageFile } from '../files/folders.ts';
import type { Endpoint } from '../framework/endpoint.ts';
import type { Candidates } from '../framework/replacement.ts';
import type { CallOptions, Runtime } from '../framework/runtime.ts';
import { createContext } from '../picker/scheduling/context.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import type { PickerMessage } from './messages.ts';
import { type RemoteOptions, RemoteScheduler } from './remote-scheduler.ts';

const definitions = loadSync(packageFile('proto/pointsman/scheduler/v1/scheduler.proto'), {
  longs: Number,
  enums: String,
  defaults: true,
});
const { Run } = definitions['pointsman.scheduler.v1.Scheduler'] as ServiceDefinition;
const run = Run as MethodDefinition<PickerMessage, object>;

const WELCOME = { version: 1, name: 'fake', wantsEndpoints: true, wantsEvents: true };
const [A, B] = [makeEndpoint('a', { slot: 0 }), makeEndpoint('b', { slot: 1 })] as [
  Endpoint,
  Endpoint,
];

function setUp(options: Partial<RemoteOptions> = {}, welcome: object | null = WELCOME) {
  const clock = new SimulatedClock();
  const calls: { options: CallOptions; told: PickerMessage[]; open: boolean }[] = [];
  let unread = 0;
  const runtime: Runtime = {
    clock,
    random: seededRandom(1),
    network: {
      get: () => Promise.reject(new Error('no HTTP here')),
      openCall: (given) => {
        const call = { options: given, told: [] as PickerMessage[], open: true };
        calls.push(call);
        return {
          send: (bytes) => void call.told.push(run.requestDeserialize(Buffer.from(bytes))),
          waitingBytes: () => unread,
          close: () => {
            call.open = false;
          },
        };
      },
    },
  };
  const scheduler = new RemoteScheduler(
    {
      address: 'x:1',
      deadlineMs: 5,
      batchWindowMs: 0,
      headers: [],
      maxNumOfEndpoints: 2,
      tls: undefined,
      ...options,
    },
    { runtime, now: () => clock.now() },
  );
  for (const endpoint of [A, B]) scheduler.onEndpointAdded(endpoint);
  const call = () => calls.at(-1) as (typeof calls)[number];
  const say = (message: object) => call().options.onMessage(run.responseSerialize(message));
  if (welcome !== null) say({ welcome });
  const candidates: Candidates = { endpoints: [A, B], all: true };
  const ask = (id: string, given = candidates) => {
    const request = makeRequest({ id });
    let ready = false;
    const waits = scheduler.prepare(request, given, () => {
      ready = true;
    });
    const decide = (endpoints: readonly Endpoint[] = [A, B]) => {
      const context = { request, now: 0, random: seededRandom(1) };
      const result = scheduler.schedule(endpoints, createContext(context, endpoints, new Map()));
      if ('declined' in result) return result.declined;
      const { primary, prefill } = result;
      return primary.kind === 'exhausted'
        ? 'refused'
        : [primary.targets.map(({ endpoint }) => endpoint.slot), prefill?.slot];
    };
    return { waits, isReady: () => ready, decide };
  };
  const answer = (id: string, slots: readonly number[], more: object = {}) =>
    say({ decisions: [{ id, targets: slots.map((slot) => ({ slot, score: 1 })), ...more }] });
  return {
    scheduler,
    clock,
    calls,
    call,
    say,
    ask,
    answer,
    setUnread: (n: number) => (unread = n),
  };
}

describe('a scheduler in another process', () => {
  it('[R1] is greeted first, and gets every endpoint once it has said what it wants', () => {
    const { call, say } = setUp({}, null);
    expect(call().told.map((message) => Object.keys(message.hello ?? {}))).toEqual([
      ['headers', 'version', 'picker', 'deadlineMs'],
    ]);
    say({ welcome: WELCOME });
    expect(call().told[1]?.endpoints?.map(({ slot }) => slot)).toEqual([0, 1]);
  });

  it('[V34] is not waited for where sending the request ends its stream at once', () => {
    const { ask, setUnread, clock } = setUp();
    const earlier = ask('r1');
    setUnread(5 * 1024 * 1024);
    const asked = ask('r2');
    expect([asked.waits, asked.isReady(), asked.decide()]).toEqual([false, false, 'disconnected']);
    // The request that waited goes on.
    expect([earlier.waits, earlier.isReady(), earlier.decide()]).toEqual([
      true,
      true,
      'disconnected',
    ]);
    clock.advanceTo(1000);
    expect(asked.isReady()).toBe(false);
  });

  it('[R2] is waited for, and its order of endpoints taken', () => {
    const { ask, answer } = setUp();
    const asked = ask('r1');
    expect([asked.waits, asked.isReady()]).toEqual([true, false]);
    answer('r1', [1, 0]);
    expect(asked.isReady()).toBe(true);
    expect(asked.decide()).toEqual([[1, 0], undefined]);
  });

  it('[R2] may name where the prompt is computed, and the sidecar learns it', () => {
    const { ask, answer } = setUp();
    const asked = ask('r1');
    answer('r1', [1], { prefillSlot: 0 });
    expect(asked.decide()).toEqual([[1], 0]);
  });

  it('[R3] is not waited for beyond the deadline, and what comes later has no effect', () => {
    const { scheduler, clock, ask, answer } = setUp();
    const asked = ask('r1');
    clock.step(5);
    expect([asked.isReady(), asked.decide()]).toEqual([true, 'deadline']);
    answer('r1', [1]);
    expect([asked.decide(), scheduler.status().ignoredAnswers]).toEqual(['deadline', 1]);
  });

  it('[R4] has no effect with an endpoint that was not offered, a bad score or a reserved header', () => {
    const { ask, answer, say } = setUp();
    const onlyA = { endpoints: [A], all: false };
    const [outside, score, header, twice] = ['o', 's', 'h', 't'].map((id) => ask(id, onlyA));
    answer('o', [1]);
    say({ decisions: [{ id: 's', targets: [{ slot: 0, score: Number.NaN }] }] });
    answer('h', [0], { headers: { 'x-gateway-destination-endpoint': '6.6.6.6:1' } });
    answer('t', [0, 0]);
    expect([outside?.decide(), score?.decide(), header?.decide(), twice?.decide()]).toEqual([
      'not-a-candidate',
      'bad-score',
      'bad-header',
      'not-a-candidate',
    ]);
  });

  it('[R4] has no effect with an endpoint that has gone meanwhile; one that is left is taken', () => {
    const { ask, answer } = setUp();
    const [both, gone] = [ask('both'), ask('gone')];
    answer('both', [1, 0]);
    answer('gone', [1]);
    expect([both.decide([A]), gone.decide([A])]).toEqual([[[0], undefined], 'endpoint-gone']);
  });

  it('[R5] may have no opinion, or refuse', () => {
    const { ask, answer } = setUp();
    const [none, refused] = [ask('none'), ask('refused')];
    answer('none', []);
    answer('refused', [], { refuse: true });
    expect([none.decide(), refused.decide()]).toEqual(['no-opinion', 'refused']);
  });

  it('[R6] is not asked after five failures in a row, until a trial that no request waits for succeeds', () => {
    const { scheduler, clock, ask, answer } = setUp();
    for (let i = 0; i < 5; i++) ask(`late ${i}`);
    while (clock.step(5));
    expect([scheduler.status().breaker, ask('next').decide()]).toEqual(['open', 'breaker-open']);
    while (clock.step(1100));
    const trial = ask('trial');
    expect([trial.waits, trial.decide(), scheduler.status().breaker]).toEqual([
      false,
      'breaker-open',
      'half-open',
    ]);
    answer('trial', [0]);
    expect([scheduler.status().breaker, ask('again').waits]).toEqual(['closed', true]);
  });

  it('[V78] says whether it is connected, slow or gone, since when, why and how often', () => {
    const { scheduler, clock, calls, call, say, ask, answer } = setUp({}, null);
    const start = clock.wallTime();
    expect(scheduler.status()).toMatchObject({ state: 'connecting', since: start });
    call().options.onClosed('connection refused');
    expect(scheduler.status()).toMatchObject({ state: 'gone', cause: 'connection refused' });
    clock.advanceTo(150);
    expect(calls).toHaveLength(2);
    say({ welcome: WELCOME });
    expect(scheduler.status()).toMatchObject({
      state: 'connected',
      cause: 'it has connected',
      lastError: 'connection refused',
    });
    for (let i = 0; i < 5; i++) ask(`late ${i}`);
    clock.advanceTo(160);
    const { since } = scheduler.status();
    expect(scheduler.status()).toMatchObject({
      state: 'slow',
      cause: 'it did not answer within 5 ms',
    });
    clock.advanceTo(1300);
    ask('trial');
    expect(scheduler.status()).toMatchObject({ state: 'slow', since });
    answer('trial', [0]);
    expect(scheduler.status()).toMatchObject({ state: 'connected', cause: 'it answers in time' });
    expect(Object.fromEntries(scheduler.status().changes ?? [])).toEqual({
      gone: 1,
      connected: 2,
      slow: 1,
    });
  });

  it('[R6] is tried again at once when it has greeted anew', () => {
    const { scheduler, clock, call, say, ask, answer } = setUp();
    for (let i = 0; i < 5; i++) ask(`late ${i}`);
    while (clock.step(5));
    call().options.onClosed('killed');
    while (clock.step(105));
    say({ welcome: WELCOME });
    ask('trial');
    answer('trial', [0]);
    expect(scheduler.status().breaker).toBe('closed');
  });

  it('[R6] is not given up for one broken stream, however many waited', () => {
    const { scheduler, clock, call, say, ask } = setUp();
    for (let i = 0; i < 20; i++) ask(`r${i}`);
    call().options.onClosed('killed');
    while (clock.step(100));
    say({ welcome: WELCOME });
    expect([scheduler.status().breaker, ask('next').waits]).toEqual(['closed', true]);
  });

  it('[R7] that goes away delays no request, and gets everything again when it is back', () => {
    const { clock, calls, call, say, ask } = setUp();
    const asked = ask('r1');
    call().options.onClosed('killed');
    expect([asked.isReady(), asked.decide(), ask('r2').decide()]).toEqual([
      true,
      'disconnected',
      'disconnected',
    ]);
    while (clock.step(100));
    expect(calls).toHaveLength(2);
    say({ welcome: WELCOME });
    expect(call().told[1]?.endpoints?.map(({ slot }) => slot)).toEqual([0, 1]);
    expect(ask('r3').waits).toBe(true);
  });

  it('[R8] that answers nonsense, greets twice or does not read is cut off', () => {
    const nonsense = setUp();
    nonsense.call().options.onMessage(Uint8Array.from([255, 255, 255]));
    const twice = setUp();
    twice.say({ welcome: WELCOME });
    const unread = setUp();
    unread.setUnread(5_000_000);
    unread.ask('r1');
    const old = setUp({}, { version: 2 });
    const mute = setUp({}, null);
    while (mute.clock.step(5000));
    const all = [nonsense, twice, unread, old, mute];
    expect(all.map(({ call }) => call().open)).toEqual(all.map(() => false));
  });

  it('[V224] is cut off for a message that would be decoded to millions of objects', () => {
    // Two bytes each: an empty decision, and a decision of empty targets.
    const decisions = Buffer.alloc(2 * 100_001);
    for (let at = 0; at < decisions.length; at += 2) decisions[at] = 0x12;
    const length = Buffer.from([0x80, 0x80, 0x80, 0x01]);
    const targets = Buffer.concat([Buffer.from([0x12]), length, Buffer.alloc(2 ** 21)]);
    for (let at = 5; at < targets.length; at += 2) targets[at] = 0x12;
    for (const bytes of [decisions, targets]) {
      const { call } = setUp();
      const { options } = call();
      options.onMessage(bytes);
      expect(call().open).toBe(false);
    }
  });

  it('[V224] is read where it scores a thousand endpoints for each of ninety requests', () => {
    const { say, call, ask } = setUp();
    const thousand = Array.from({ length: 1000 }, (_, slot) => makeEndpoint(`e${slot}`, { slot }));
    for (let n = 0; n < 90; n++) ask(`other${n}`, { endpoints: thousand, all: true });
    const asked = ask('r0');
    const scores = Array.from({ length: 1000 }, (_, slot) => ({ slot: slot + 1, score: 0.5 }));
    const targets = [{ slot: 0, score: 1 }, ...scores.slice(0, 1)];
    const others = Array.from({ length: 90 }, (_, n) => ({ id: `other${n}`, targets: scores }));
    say({ decisions: [...others, { id: 'r0', targets }] });
    expect([call().open, asked.isReady(), asked.decide()]).toEqual([
      true,
      true,
      [[0, 1], undefined],
    ]);
  });

  it('[V260] is cut off where it sends more than answers to what it was asked', () => {
    const floods: readonly (readonly object[])[] = [
      // Empty messages, answers to nobody, the same answer again, and one answer as large as a thousand.
      Array.from({ length: 100 }, () => ({})),
      [{ decisions: Array.from({ length: 2000 }, (_, n) => ({ id: `nobody-${n}` })) }],
      Array.from({ length: 200 }, () => ({ decisions: [{ id: 'r1', targets: [{ slot: 0 }] }] })),
      [{ decisions: [{ id: 'x'.repeat(200_000) }] }],
    ];
    for (const messages of floods) {
      const { call, ask, say, clock, calls, scheduler } = setUp();
      ask('r1');
      for (const message of messages) if (call().open) say(message);
      expect(call().open).toBe(false);
      expect(scheduler.status().cause).toMatch('more than answers');
      while (clock.step(100));
      expect(calls).toHaveLength(2);
    }
  });

  it('[V260] answers as long as it is asked, all endpoints scored and as many headers as it may set', () => {
    const { call, ask, say } = setUp();
    const thousand = Array.from({ length: 1000 }, (_, slot) => makeEndpoint(`e${slot}`, { slot }));
    const targets = thousand.map(({ slot }) => ({ slot, score: 0.123 }));
    const headers = Object.fromEntries(
      Array.from({ length: 32 }, (_, n) => [`x-${n}`, 'v'.repeat(240)]),
    );
    for (let n = 0; n < 500; n++) {
      const asked = ask(`r${n}`, { endpoints: thousand, all: true });
      say({ decisions: [{ id: `r${n}`, targets, headers }] });
      expect([call().open, asked.isReady()]).toEqual([true, true]);
    }
  });

  it('[V261] that greets and goes at once, again and again, is tried ever less often', () => {
    const { clock, calls, call, say } = setUp();
    const opened: number[] = [];
    for (let n = 0; n < 8; n++) {
      call().options.onClosed('gone again');
      const before = calls.length;
      const from = clock.now();
      while (calls.length === before) clock.step();
      opened.push(clock.now() - from);
      say({ welcome: WELCOME });
    }
    expect(opened).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000]);
    clock.advanceTo(100_000);
    call().options.onClosed('gone after a long time');
    const from = clock.now();
    const before = calls.length;
    while (calls.length === before) clock.step();
    expect(clock.now() - from).toBe(100);
  });

  it('[V261] cannot fill the log with its reason for going', () => {
    const { call, scheduler } = setUp();
    call().options.onClosed('x\n'.repeat(9000));
    expect(scheduler.status().cause?.length).toBe(300);
  });

  it('[V262] that asks for the same header a hundred thousand times gets it once', () => {
    const { scheduler, call } = setUp(
      { headers: ['x-a'] },
      { ...WELCOME, headers: Array.from({ length: 50_000 }, () => 'x-a') },
    );
    let reads = 0;
    const headers = new Map([['x-a', '1']]);
    const get = headers.get.bind(headers);
    headers.get = (name) => {
      reads += 1;
      return get(name);
    };
    const request = makeRequest({ id: 'r1', headers });
    scheduler.prepare(request, { endpoints: [A, B], all: true }, () => undefined);
    expect([reads, call().told.at(-1)?.requests?.[0]?.headers]).toEqual([1, { 'x-a': '1' }]);
  });

  it('[V263] cannot lead the sidecar elsewhere by a header, nor set more than servers take', () => {
    const { ask, answer } = setUp();
    const names = ['x-prefiller-host-port', 'x-llm-d-prefiller-host-port', 'x-encoder-hosts-ports'];
    for (const name of [...names, 'x-kv-cache-source-host-port']) {
      const asked = ask(name);
      answer(name, [0], { headers: { [name]: '169.254.169.254:80' } });
      expect(asked.decide()).toBe('bad-header');
    }
    const large = ask('large');
    answer('large', [0], { headers: { 'x-a': 'a'.repeat(4096), 'x-b': 'b'.repeat(4096) } });
    expect(large.decide()).toBe('bad-header');
  });

  it('[V224] gets no window of more than about a megabyte of block hashes', () => {
    const { call, scheduler } = setUp({ batchWindowMs: 2 }, { ...WELCOME, blockHashesMax: 16_384 });
    const prompt = { count: 16_384, blockTokens: 64, words: new Uint32Array(2 * 16_384) };
    const candidates = { endpoints: [A, B], all: true };
    for (let n = 0; n < 20; n++) {
      scheduler.prepare(makeRequest({ id: `r${n}`, prompt }), candidates, () => undefined);
    }
    const sizes = call().told.map(({ requests = [] }) => requests.length);
    expect(sizes).toEqual([0, 0, 8, 8]);
  });

  it('[R9] is asked about all requests of a window at once, and by default about each by itself', () => {
    const alone = setUp();
    alone.ask('r1');
    alone.ask('r2');
    expect(alone.call().told.flatMap(({ requests = [] }) => [requests.length])).toEqual([
      0, 0, 1, 1,
    ]);
    const together = setUp({ batchWindowMs: 2 });
    together.ask('r1');
    together.ask('r2');
    together.clock.step(2);
    expect(
      together
        .call()
        .told.at(-1)
        ?.requests?.map(({ id }) => id),
    ).toEqual(['r1', 'r2']);
  });

  it('[R10] sees only headers that the configuration lets through and it has asked for', () => {
    const { call, scheduler } = setUp(
      { headers: ['x-a', 'x-b'] },
      { ...WELCOME, headers: ['x-a', 'x-c'] },
    );
    const headers = new Map([
      ['x-a', '1'],
      ['x-b', '2'],
      ['x-c', '3'],
    ]);
    const request = makeRequest({ id: 'r1', headers });
    scheduler.prepare(request, { endpoints: [A, B], all: true }, () => undefined);
    expect(call().told.at(-1)?.requests?.[0]?.headers).toEqual({ 'x-a': '1' });
  });

  it('[R11] gets the outcomes of requests, in order, with the next it is asked', () => {
    const { call, scheduler, ask } = setUp();
    const request = makeRequest({ id: 'r0' });
    const load = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };
    const routed = {
      number: 0,
      request,
      endpoint: B,
      at: 10,
      cachedTokens: 0,
      load,
      firstTokenSeen: true,
    };
    scheduler.onRouted(routed);
    scheduler.onFirstToken(routed, 30);
    scheduler.onDone(routed, 50, 'completed', {
      promptTokens: 9,
      completionTokens: 8,
      cachedTokens: 7,
    });
    ask('r1');
    expect(call().told.at(-1)?.events).toMatchObject([
      { id: 'r0', routed: { slot: 1 } },
      { id: 'r0', firstToken: { afterMs: 20 } },
      { id: 'r0', done: { outcome: 'COMPLETED', afterMs: 40, completionTokens: 8 } },
    ]);
  });
});
