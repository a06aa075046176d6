import { describe, expect, test } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import { ControlledBench, DETECTOR, PLAN } from '../../../test/support/controlled-bench.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import { RoutingError } from '../../framework/error.ts';

describe('a router with flow control', () => {
  test('[Q65] holds back what the detector does not let through, until a request ends', () => {
    const bench = new ControlledBench();
    const first = bench.send('first');
    bench.send('second');
    expect(bench.routed).toEqual(['first']);
    bench.end(first);
    expect(bench.routed).toEqual(['first', 'second']);
  });

  test('[Q103] holds back what the capacity of the endpoints does not allow', () => {
    const detector = { ...PLAN.detector, config: { ...DETECTOR, maxConcurrency: 10 } };
    const bench = new ControlledBench({
      plan: { ...PLAN, detector },
      capacity: { maxConcurrency: 2 },
    });
    const first = bench.send('first');
    bench.send('second');
    bench.send('third');
    expect(bench.routed).toEqual(['first', 'second']);
    bench.end(first);
    expect(bench.routed).toEqual(['first', 'second', 'third']);
  });

  test('[Q65] does nothing without a plan, and for requests that may go anywhere', () => {
    const off = new ControlledBench();
    off.router.configure(undefined);
    expect(off.router.prepare).toBeUndefined();
    const bench = new ControlledBench();
    bench.send('first');
    bench.router.route(makeRequest({ id: 'models' }), { anywhere: true });
    bench.send('waits', { headers: new Map([[':method', 'PUT']]) });
    expect([bench.routed, bench.heldMs]).toEqual([['first'], [0, 0]]);
  });

  test('[Q66] refuses what has waited too long, without any event', () => {
    const bench = new ControlledBench();
    bench.send('first');
    bench.send('late');
    bench.clock.advanceTo(bench.clock.now() + 999);
    expect(bench.refused).toEqual([]);
    bench.clock.advanceTo(bench.clock.now() + 20);
    expect(bench.refused).toEqual(['late queue-timeout']);
  });

  test('[V532] a stream that throws where it may go on keeps no other waiting for longer than it may', () => {
    const bench = new ControlledBench();
    const first = bench.send('first');
    bench.router.prepare?.(makeRequest({ id: 'throws' }), [], () => {
      throw new Error('on purpose');
    });
    bench.send('late');
    expect(() => bench.end(first)).toThrow('on purpose');
    bench.clock.advanceTo(bench.clock.now() + 1020);
    expect(bench.refused).toEqual(['late queue-timeout']);
  });

  test('[Q67] ends a request whose client is gone, waiting or placed', () => {
    const bench = new ControlledBench({ prepares: true });
    const first = bench.send('first');
    const second = bench.send('second');
    bench.send('third');
    bench.router.abandon(second);
    bench.router.abandon(first);
    bench.clock.advanceTo(bench.clock.now() + 0);
    for (const ready of bench.prepared) ready();
    expect(bench.routed).toContain('third');
    expect(bench.routed).not.toContain('second');
  });

  test('[Q134] counts what leaves it without a decision: refused, out of time, or its client gone', () => {
    const bench = new ControlledBench({ plan: { ...PLAN, maxRequests: 2 } });
    bench.send('first');
    bench.send('late');
    const gone = bench.send('gone');
    expect(() => bench.send('one too many')).toThrow(RoutingError);
    expect(bench.router.undecided).toBe(1);
    bench.router.abandon(gone);
    bench.router.abandon(gone);
    expect(bench.router.undecided).toBe(2);
    bench.clock.advanceTo(bench.clock.now() + 1020);
    expect(bench.refused).toEqual(['late queue-timeout']);
    expect(bench.router.undecided).toBe(3);
  });

  test('[Q154] what waits is on the account of its flow, however it leaves', () => {
    const bench = new ControlledBench();
    const first = bench.send('first');
    const about = { fairnessId: 'loud', promptTokens: 100 };
    const [second, third] = [bench.send('second', about), bench.send('third', about)];
    bench.send('fourth', about);
    expect(bench.waitingOf('loud')).toEqual([3, 300]);
    bench.end(first);
    expect(bench.waitingOf('loud')).toEqual([2, 200]);
    bench.router.abandon(third);
    bench.router.abandon(third);
    expect(bench.waitingOf('loud')).toEqual([1, 100]);
    bench.end(second);
    bench.send('fifth', about);
    bench.router.stop();
    expect(bench.waitingOf('loud')).toEqual([0, 0]);
  });

  test('[Q69] a new configuration keeps what waits, as far as its limits let it', () => {
    const bench = new ControlledBench();
    const first = bench.send('first');
    for (const id of ['a', 'b', 'c']) bench.send(id);
    bench.router.configure({ ...PLAN, maxRequests: 2 });
    expect(bench.refused).toEqual(['c saturated']);
    bench.end(first);
    expect(bench.routed).toEqual(['first', 'a']);
    bench.router.configure(undefined);
    expect(bench.routed).toEqual(['first', 'a', 'b']);
  });

  test('[Q241] a new configuration begins no new time to wait, and ends none', () => {
    const plan = { ...PLAN, noEndpointTtlMs: 60_000 };
    const bench = new ControlledBench({ plan });
    bench.pool.remove('pod' as EndpointId);
    for (const id of ['first', 'second']) bench.send(id);
    bench.clock.advanceTo(bench.clock.now() + 30_000);
    bench.join();
    bench.clock.advanceTo(bench.clock.now() + 500);
    bench.router.configure({ ...plan, maxRequests: 50 });
    bench.clock.advanceTo(bench.clock.now() + 480);
    expect([bench.routed, bench.refused]).toEqual([['first'], []]);
    bench.clock.advanceTo(bench.clock.now() + 40);
    expect(bench.refused).toEqual(['second queue-timeout']);
  });

  test('[Q241] so while the pool is empty, however often the configuration changes', () => {
    const bench = new ControlledBench();
    bench.pool.remove('pod' as EndpointId);
    bench.send('waits');
    for (let maxRequests = 1; maxRequests <= 5; maxRequests++) {
      bench.clock.advanceTo(bench.clock.now() + 190);
      bench.router.configure({ ...PLAN, maxRequests });
    }
    expect(bench.refused).toEqual([]);
    bench.clock.advanceTo(bench.clock.now() + 60);
    expect(bench.refused).toEqual(['waits no-endpoints']);
  });

  test('[Q242] under a new configuration what is in flight already makes room, one step at a time', () => {
    const evicts = { ...PLAN, evicts: true };
    const bench = new ControlledBench({ plan: { ...PLAN, evicts: false } });
    const batch = bench.send('batch', { priority: -1 });
    bench.send('chat');
    bench.router.configure(evicts);
    expect(bench.evicted).toEqual(['batch']);
    bench.router.configure({ ...evicts, maxRequests: 50 });
    expect(bench.evicted).toEqual(['batch']);
    bench.end(batch);
    expect(bench.routed).toEqual(['batch', 'chat']);
  });

  test('[Q69] refuses what waits when the picker ends', () => {
    const bench = new ControlledBench();
    bench.send('first');
    bench.send('second');
    bench.router.stop();
    expect(bench.refused).toEqual(['second shutting-down']);
  });

  test('[Q84] a request that has waited is routed with the time that it waited', () => {
    const bench = new ControlledBench();
    const first = bench.send('a');
    bench.send('b');
    bench.clock.advanceTo(bench.clock.now() + 250);
    bench.end(first);
    expect([bench.routed, bench.heldMs]).toEqual([
      ['a', 'b'],
      [0, 250],
    ]);
    expect([...bench.router.waitingRequests]).toEqual([]);
  });

  test('[Q70] what was let through counts before it is routed', () => {
    const bench = new ControlledBench({ prepares: true });
    bench.send('first');
    bench.send('second');
    bench.clock.advanceTo(bench.clock.now() + 50);
    expect(bench.prepared).toHaveLength(1);
  });
});
