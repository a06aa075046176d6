import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../test/makers.ts';
import { A, B, remoteBed, WELCOME } from '../../test/support/remote-bed.ts';

describe('a scheduler in another process', () => {
  it('[R1] gets a greeting first, and every endpoint once it has said what it needs', () => {
    const { call, say } = remoteBed({}, null);
    expect(call().told.map((message) => Object.keys(message.hello ?? {}))).toEqual([
      ['headers', 'version', 'picker', 'deadlineMs'],
    ]);
    say({ welcome: WELCOME });
    expect(call().told[1]?.endpoints?.map(({ slot }) => slot)).toEqual([0, 1]);
  });

  it('[V34] is not waited for where sending the request ends its stream at once', () => {
    const { ask, setUnread, clock } = remoteBed();
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
    const { ask, answer } = remoteBed();
    const asked = ask('r1');
    expect([asked.waits, asked.isReady()]).toEqual([true, false]);
    answer('r1', [1, 0]);
    expect(asked.isReady()).toBe(true);
    expect(asked.decide()).toEqual([[1, 0], undefined]);
  });

  it('[R2] may name where the prompt is computed, and the sidecar learns it', () => {
    const { ask, answer } = remoteBed();
    const asked = ask('r1');
    answer('r1', [1], { prefillSlot: 0 });
    expect(asked.decide()).toEqual([[1], 0]);
  });

  it('[R3] is not waited for beyond the deadline, and what comes later has no effect', () => {
    const { scheduler, clock, ask, answer } = remoteBed();
    const asked = ask('r1');
    clock.step(5);
    expect([asked.isReady(), asked.decide()]).toEqual([true, 'deadline']);
    answer('r1', [1]);
    expect([asked.decide(), scheduler.status().ignoredAnswers]).toEqual(['deadline', 1]);
  });

  it('[R4] has no effect with an endpoint that was not offered, a bad score or a reserved header', () => {
    const { ask, answer, say } = remoteBed();
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
    const { ask, answer } = remoteBed();
    const [both, gone] = [ask('both'), ask('gone')];
    answer('both', [1, 0]);
    answer('gone', [1]);
    expect([both.decide([A]), gone.decide([A])]).toEqual([[[0], undefined], 'endpoint-gone']);
  });

  it('[R5] may have no opinion, or refuse', () => {
    const { ask, answer } = remoteBed();
    const [none, refused] = [ask('none'), ask('refused')];
    answer('none', []);
    answer('refused', [], { refuse: true });
    expect([none.decide(), refused.decide()]).toEqual(['no-opinion', 'refused']);
  });

  it('[R6] is not asked after five failures in a row, until a trial that no request waits for succeeds', () => {
    const { scheduler, clock, ask, answer } = remoteBed();
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

  it('[O356] says why no connection could be made in the words of the system alone', () => {
    const { scheduler, call } = remoteBed({}, null);
    const why =
      '14 UNAVAILABLE: No connection established. Last error: Error: connect ENOENT /tmp/s. Resolution note: ';
    call().options.onClosed(why);
    expect(scheduler.status()).toMatchObject({ state: 'gone', cause: 'connect ENOENT /tmp/s' });
  });

  it('[V78] says whether it is connected, slow or gone, since when, why and how often', () => {
    const { scheduler, clock, calls, call, say, ask, answer } = remoteBed({}, null);
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
    const { scheduler, clock, call, say, ask, answer } = remoteBed();
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
    const { scheduler, clock, call, say, ask } = remoteBed();
    for (let i = 0; i < 20; i++) ask(`r${i}`);
    call().options.onClosed('killed');
    while (clock.step(100));
    say({ welcome: WELCOME });
    expect([scheduler.status().breaker, ask('next').waits]).toEqual(['closed', true]);
  });

  it('[R7] that goes away delays no request, and gets everything again when it is back', () => {
    const { clock, calls, call, say, ask } = remoteBed();
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

  it('[R9] is asked about all requests of a window at once, and by default about each by itself', () => {
    const alone = remoteBed();
    alone.ask('r1');
    alone.ask('r2');
    expect(alone.call().told.flatMap(({ requests = [] }) => [requests.length])).toEqual([
      0, 0, 1, 1,
    ]);
    const together = remoteBed({ batchWindowMs: 2 });
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
    const { call, scheduler } = remoteBed(
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
    const { call, scheduler, ask } = remoteBed();
    const request = makeRequest({ id: 'r0' });
    const load = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };
    const routed = {
      number: 0,
      request,
      endpoint: B,
      at: 10,
      cachedTokens: 0,
      load,
      firstTokenVisible: true,
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
