import { describe, expect, it } from 'vitest';
import { blocksOf, type SharedPicker, startPicker } from '../../test/replicas/pickers.ts';
import type { EndpointId } from '../framework/endpoint.ts';
import type { Clock, Millis } from '../framework/runtime.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import { SimulatedNetwork } from './links/simulated-network.ts';
import { GONE_MS } from './peers/peers.ts';
import { HEARTBEAT_MS } from './replica.ts';

interface Setup {
  readonly clock: SimulatedClock;
  readonly network: SimulatedNetwork;
  readonly pickers: readonly SharedPicker[];
  readonly start: (id: string, boot?: number) => SharedPicker;
  readonly pass: (ms: Millis) => void;
}

function setUp(
  count = 2,
  delays?: (message: Uint8Array) => readonly Millis[],
  endpoints = 4,
): Setup {
  const clock = new SimulatedClock();
  const network = new SimulatedNetwork({ clock, delayMs: 1, delays });
  const start = (id: string, boot = 1): SharedPicker =>
    startPicker(id, { clock, openLink: network.open, boot, endpoints });
  const pickers = Array.from({ length: count }, (_, index) => start(`p${index}`));
  const pass = (ms: Millis): void => clock.advanceTo(clock.now() + ms);
  pass(100);
  return { clock, network, pickers, start, pass };
}

const total = (picker: SharedPicker | undefined): number =>
  picker?.loads().reduce((sum, load) => sum + load, 0) ?? Number.NaN;

describe('replicas', () => {
  it('[O140] counts the load that other replicas have placed, until it ends', () => {
    const { pickers, pass } = setUp(3);
    const [a, b, c] = pickers as [SharedPicker, SharedPicker, SharedPicker];
    const routed = [a, b, a].map((each) => each.route(blocksOf(10)));
    pass(10);
    expect(b.loads()).toEqual(a.loads());
    expect(c.loads()).toEqual(a.loads());
    expect(c.pendingTokens()).toBe(a.pendingTokens());
    for (const each of routed) each.firstToken();
    pass(60);
    expect(c.pendingTokens()).toBe(0);
    for (const each of routed) each.done('completed');
    pass(60);
    for (const each of pickers) expect(total(each)).toBe(0);
  });

  it('[G226] sends a pick to the others at once after a quiet time', () => {
    const { pickers, pass } = setUp();
    const [a, b] = pickers as [SharedPicker, SharedPicker];
    a.route(blocksOf(10));
    pass(2);
    expect([total(b), b.pendingTokens()]).toEqual([1, a.pendingTokens()]);
  });

  it('[G228] expects first tokens of others, until news of them should have come', () => {
    const { pickers, pass } = setUp();
    const [a, b] = pickers as [SharedPicker, SharedPicker];
    const routed = a.route(blocksOf(10));
    pass(10);
    expect(b.pendingTokens()).toBe(650);
    pass(50);
    expect([total(b), b.pendingTokens()]).toEqual([1, 0]);
    expect(a.pendingTokens()).toBe(650);
    pass(100);
    expect(b.pendingTokens()).toBe(650);
    routed.firstToken();
    pass(60);
    expect([total(b), b.pendingTokens()]).toEqual([1, 0]);
    routed.done('completed');
    pass(60);
    expect([total(b), b.pendingTokens()]).toEqual([0, 0]);
  });

  it('[G227] keeps what came before an older list of what is open', () => {
    let delayMs = 1;
    const { pickers, pass, network } = setUp(2, () => [delayMs]);
    const [a, b] = pickers as [SharedPicker, SharedPicker];
    network.cut('p1');
    pass(100);
    delayMs = 80;
    network.reconnect('p1');
    pass(90);
    delayMs = 1;
    a.route();
    pass(300);
    expect(total(b)).toBe(1);
  });

  it('[O361] says times to a thousandth of a millisecond at most, whatever the clock counts in', () => {
    const { pickers, pass } = setUp();
    pass(0.123456789);
    const { sinceMs, peers } = (pickers[0] as SharedPicker).replica.status();
    const times = [sinceMs, ...peers.flatMap(({ silentMs, lagMs }) => [silentMs, lagMs])];
    expect(times).toHaveLength(3);
    for (const each of times) expect(String(each)).toMatch(/^\d+(\.\d{1,3})?$/);
  });

  it('[O141] sends a prompt where another replica has sent its prefix', () => {
    const { pickers, pass } = setUp();
    const [a, b] = pickers as [SharedPicker, SharedPicker];
    for (let n = 0; n < 6; n++) {
      const first = a.route(blocksOf(40, 1000 * n));
      first.done('completed');
      pass(60);
      const second = b.route(blocksOf(40, 1000 * n));
      expect(second.endpoint.id).toBe(first.endpoint.id);
      second.done('completed');
      pass(60);
    }
  });

  it('[O142] ejects an endpoint that fails the requests of all replicas together', () => {
    const { pickers, pass } = setUp(4);
    for (let n = 0; n < 60; n++) {
      for (const each of pickers) {
        const routed = each.route();
        const failed = routed.endpoint.id === '10.0.0.0:8000';
        routed.done(failed ? 'failed' : 'completed');
      }
      pass(60);
    }
    for (const { picker } of pickers) {
      const bad = picker.pool.get('10.0.0.0:8000' as EndpointId);
      expect(bad && picker.ejector.ejected(bad)).toBeDefined();
    }
  });

  it('[O143] gives a new replica what is open and the known prompts of another', () => {
    const { pickers, pass, start } = setUp(2);
    const [a] = pickers as [SharedPicker];
    const homes = blocksOf(30).map((n) => {
      const routed = a.route(blocksOf(40, 1000 * n));
      if (n > 4) routed.done('completed');
      return routed.endpoint.id;
    });
    pass(60);
    const c = start('p2');
    pass(200);
    expect(c.loads()).toEqual(a.loads());
    const found = homes.map((_, n) => c.route(blocksOf(40, 1000 * n)));
    const equal = found.filter(({ endpoint }, n) => endpoint.id === homes[n]).length;
    expect(equal).toBeGreaterThanOrEqual(27);
    expect(c.replica.status().received.prefixBlocks).toBe(30 * 40);
  });

  it('[O144] releases what a silent, restarted or ended replica had open', async () => {
    const { pickers, pass, start, network } = setUp(3);
    const [a, b, c] = pickers as [SharedPicker, SharedPicker, SharedPicker];
    for (const each of [b, c]) for (let n = 0; n < 5; n++) each.route();
    pass(60);
    expect(total(a)).toBe(10);
    network.cut('p1');
    pass(GONE_MS + 2 * HEARTBEAT_MS);
    expect(total(a)).toBe(5);
    start('p2', 2);
    pass(100);
    expect(total(a)).toBe(0);
    network.reconnect('p1');
    pass(100);
    expect(total(a)).toBe(5);
    await b.stop();
    pass(10);
    expect(total(a)).toBe(0);
    expect(a.notices.map((notice) => ('reason' in notice ? notice.reason : ''))).toContain(
      'silent',
    );
  });

  it('[O145] has no wrong load after a partition, and fails no request in it', () => {
    const { pickers, pass, network } = setUp();
    const [a, b] = pickers as [SharedPicker, SharedPicker];
    const before = [a.route(), b.route()];
    pass(60);
    network.cut('p0');
    for (let second = 0; second < 60; second++) {
      a.route(blocksOf(10, 100 * second)).done('completed');
      b.route(blocksOf(10, 100 * second)).done('completed');
      pass(1000);
    }
    expect([total(a), total(b)]).toEqual([1, 1]);
    expect(a.replica.status().connected).toBe(false);
    const during = a.route();
    network.reconnect('p0');
    pass(HEARTBEAT_MS + 200);
    expect([total(a), total(b)]).toEqual([3, 3]);
    for (const each of [...before, during]) each.done('completed');
    pass(60);
    expect([total(a), total(b)]).toEqual([0, 0]);
  });

  it('[O146] comes to the same loads where messages are lost, repeated and reordered', () => {
    for (const seed of [1, 2, 3]) {
      const random = seededRandom(seed);
      let isBad = true;
      const { pickers, pass } = setUp(3, () => {
        if (!isBad || random.next() < 0.5) return [1];
        const copies = Math.floor(3 * random.next());
        return Array.from({ length: copies }, () => 1 + 80 * random.next());
      });
      const open = new Set<ReturnType<SharedPicker['route']>>();
      for (let n = 0; n < 600; n++) {
        const picker = pickers[Math.floor(3 * random.next())] as SharedPicker;
        if (open.size < 20 || random.next() < 0.5) open.add(picker.route(blocksOf(5, n)));
        for (const each of open) {
          if (random.next() > 0.1) continue;
          if (random.next() < 0.5) each.firstToken();
          else {
            open.delete(each);
            each.done('completed');
          }
        }
        pass(7);
      }
      isBad = false;
      pass(5 * HEARTBEAT_MS);
      for (const each of pickers) expect(total(each), `seed ${seed}`).toBe(open.size);
      for (const each of open) each.done('aborted');
      pass(100);
      for (const each of pickers) expect(total(each), `seed ${seed}`).toBe(0);
      expect(pickers[0]?.pendingTokens()).toBe(0);
    }
  });

  it('[O148] counts apart the requests for endpoints that it does not know', () => {
    const clock = new SimulatedClock();
    const network = new SimulatedNetwork({ clock, delayMs: 1 });
    const small = startPicker('p0', { clock, openLink: network.open, endpoints: 1 });
    const large = startPicker('p1', { clock, openLink: network.open, endpoints: 2 });
    clock.advanceTo(100);
    const routed = blocksOf(4).map(() => large.route());
    clock.advanceTo(200);
    expect(total(small)).toBe(2);
    expect(small.replica.status().peers[0]?.unknownEndpoints).toBe(2);
    for (const each of routed) each.done('completed');
    clock.advanceTo(300);
    expect(total(small)).toBe(0);
    expect(small.replica.status().peers[0]?.open).toBe(0);
  });

  it('[V376] share all the same where their clocks are hours apart, and where one jumps', () => {
    const hoursMs = 3_600_000;
    const clock = new SimulatedClock({ epoch: 1000 * hoursMs });
    const network = new SimulatedNetwork({ clock, delayMs: 1 });
    const offBy = [0, 3 * hoursMs, -3 * hoursMs];
    const pickers = offBy.map((_, index) => {
      const own: Clock = {
        now: () => clock.now(),
        wallTime: () => clock.wallTime() + (offBy[index] ?? 0),
        setTimer: (delay, callback) => clock.setTimer(delay, callback),
      };
      return startPicker(`p${index}`, { clock: own, openLink: network.open });
    });
    clock.advanceTo(100);
    for (const jump of [0, 5 * hoursMs, -5 * hoursMs]) {
      offBy[1] = jump;
      const routed = pickers.map((each) => each.route(blocksOf(10)));
      clock.advanceTo(clock.now() + 20_000);
      expect(pickers.map(total)).toEqual([3, 3, 3]);
      for (const each of routed) each.done('completed');
      clock.advanceTo(clock.now() + 60);
      expect(pickers.map(total)).toEqual([0, 0, 0]);
    }
    expect(pickers.map(({ replica }) => replica.status().received.peersGone)).toEqual([0, 0, 0]);
  });
});
