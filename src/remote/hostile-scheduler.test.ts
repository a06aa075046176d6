import { describe, expect, it } from 'vitest';
import { makeEndpoint, makeRequest } from '../../test/makers.ts';
import { A, B, remoteBed, WELCOME } from '../../test/support/remote-bed.ts';

describe('a scheduler in another process', () => {
  it('[R8] that answers nonsense, greets twice or does not read is cut off', () => {
    const nonsense = remoteBed();
    nonsense.call().options.onMessage(Uint8Array.from([255, 255, 255]));
    const twice = remoteBed();
    twice.say({ welcome: WELCOME });
    const unread = remoteBed();
    unread.setUnread(5_000_000);
    unread.ask('r1');
    const old = remoteBed({}, { version: 2 });
    const mute = remoteBed({}, null);
    while (mute.clock.step(5000));
    const all = [nonsense, twice, unread, old, mute];
    expect(all.map(({ call }) => call().open)).toEqual(all.map(() => false));
  });

  it('[V476] of which nothing comes while answers are missing is connected to again after 10 s', () => {
    const { clock, calls, call, say, ask, answer, scheduler } = remoteBed();
    for (let n = 0; n < 5; n++) ask(`r${n}`);
    clock.advanceTo(9000);
    ask('trial');
    clock.advanceTo(10_004);
    expect([call().open, calls.length]).toEqual([true, 1]);
    clock.advanceTo(10_006);
    expect(call().open).toBe(false);
    expect(scheduler.status()).toMatchObject({
      state: 'gone',
      cause: 'it has sent nothing for 10000 ms, and answers are missing',
    });
    clock.advanceTo(10_200);
    say({ welcome: WELCOME });
    ask('missed, as it has just begun');
    clock.advanceTo(12_300);
    ask('after');
    answer('after', [0]);
    expect(scheduler.status()).toMatchObject({ state: 'connected', breaker: 'closed' });
    clock.advanceTo(60_000);
    expect([call().open, calls.length]).toEqual([true, 2]);
  });

  it('[V476] that answers late, or is asked nothing, keeps its stream', () => {
    const late = remoteBed();
    for (let n = 0; n < 5; n++) late.ask(`r${n}`);
    for (let at = 5000; at < 60_000; at += 5000) {
      late.clock.advanceTo(at);
      late.ask(`trial ${at}`);
      late.clock.advanceTo(at + 100);
      late.answer(`trial ${at}`, [0]);
    }
    const one = remoteBed();
    for (let n = 0; n < 4; n++) one.ask(`r${n}`);
    one.clock.advanceTo(60_000);
    expect([late, one].map(({ calls, call }) => [calls.length, call().open])).toEqual([
      [1, true],
      [1, true],
    ]);
  });

  it('[V224] is cut off for a message that would be decoded to millions of objects', () => {
    // Two bytes each: an empty decision, and a decision of empty targets.
    const decisions = Buffer.alloc(2 * 100_001);
    for (let at = 0; at < decisions.length; at += 2) decisions[at] = 0x12;
    const length = Buffer.from([0x80, 0x80, 0x80, 0x01]);
    const targets = Buffer.concat([Buffer.from([0x12]), length, Buffer.alloc(2 ** 21)]);
    for (let at = 5; at < targets.length; at += 2) targets[at] = 0x12;
    for (const bytes of [decisions, targets]) {
      const { call } = remoteBed();
      const { options } = call();
      options.onMessage(bytes);
      expect(call().open).toBe(false);
    }
  });

  it('[V224] is read where it scores a thousand endpoints for each of ninety requests', () => {
    const { say, call, ask } = remoteBed();
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
      // Empty messages, answers to nobody, the same answer again, and one answer as large as a
      // thousand.
      Array.from({ length: 100 }, () => ({})),
      [{ decisions: Array.from({ length: 2000 }, (_, n) => ({ id: `nobody-${n}` })) }],
      Array.from({ length: 200 }, () => ({ decisions: [{ id: 'r1', targets: [{ slot: 0 }] }] })),
      [{ decisions: [{ id: 'x'.repeat(200_000) }] }],
    ];
    for (const messages of floods) {
      const { call, ask, say, clock, calls, scheduler } = remoteBed();
      ask('r1');
      for (const message of messages) if (call().open) say(message);
      expect(call().open).toBe(false);
      expect(scheduler.status().cause).toMatch('more than answers');
      while (clock.step(100));
      expect(calls).toHaveLength(2);
    }
  });

  it('[V260] answers as long as it is asked, all endpoints scored and as many headers as it may set', () => {
    const { call, ask, say } = remoteBed();
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
    const { clock, calls, call, say } = remoteBed();
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
    const { call, scheduler } = remoteBed();
    call().options.onClosed('x\n'.repeat(9000));
    expect(scheduler.status().cause?.length).toBe(300);
  });

  it('[V262] that asks for the same header a hundred thousand times gets it once', () => {
    const { scheduler, call } = remoteBed(
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
    const { ask, answer } = remoteBed();
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
    const { call, scheduler } = remoteBed(
      { batchWindowMs: 2 },
      { ...WELCOME, blockHashesMax: 16_384 },
    );
    const prompt = { count: 16_384, blockTokens: 64, words: new Uint32Array(2 * 16_384) };
    const candidates = { endpoints: [A, B], all: true };
    for (let n = 0; n < 20; n++) {
      scheduler.prepare(makeRequest({ id: `r${n}`, prompt }), candidates, () => undefined);
    }
    const sizes = call().told.map(({ requests = [] }) => requests.length);
    expect(sizes).toEqual([0, 0, 8, 8]);
  });
});
