import { describe, expect, test } from 'vitest';
import { ControlledBench, DETECTOR, PLAN } from '../../../test/support/controlled-bench.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import type { FlowStay } from './flow-stay.ts';

const TWO = { ...PLAN, detector: { ...PLAN.detector, config: { ...DETECTOR, maxConcurrency: 2 } } };

describe('what flow control says about a request', () => {
  const benchWith = (options: object = {}) => {
    const stays: FlowStay[] = [];
    const bench = new ControlledBench({ onStay: (stay) => stays.push(stay), ...options });
    const of = (id: string): FlowStay | undefined => stays.find(({ request }) => request.id === id);
    return { bench, stays, of };
  };

  test('[O439] says what waited when it came, and how full the pool was', () => {
    const { bench, of } = benchWith();
    const first = bench.send('first');
    bench.send('high', { priority: 5 });
    bench.send('other', { fairnessId: 'b' });
    bench.send('same', { fairnessId: 'a' });
    const last = bench.send('last', { fairnessId: 'a' });
    const found = { higher: 1, samePriority: 2, sameFairnessId: 1, endpoints: 1 };
    const why = { priority: 0, saturation: 1, ceiling: 1, closedBy: 5 };
    const now = { since: 0, at: 40, end: undefined };
    bench.clock.advanceTo(40);
    expect(bench.router.stayOf('last')).toMatchObject({ ...now, place: { ...found, ...why } });
    bench.router.abandon(last);
    expect(of('last')).toMatchObject({ at: 40, end: { kind: 'client-gone' } });
    expect(bench.router.stayOf('last')).toBeUndefined();
    bench.end(first);
    expect(of('high')).toMatchObject({
      place: { higher: 0, samePriority: 0, closedBy: undefined },
      end: { kind: 'let-go', after: ['end'], place: { priority: 5, saturation: 0 } },
    });
    expect(of('first')).toBeUndefined();
  });

  test('[O439] says after what a request was let go: the end of another, an endpoint, the configuration', () => {
    const { bench, of } = benchWith();
    bench.send('first');
    bench.send('second');
    bench.send('third');
    bench.pool.upsert({ id: 'new' as EndpointId, address: 'new:8000', labels: new Map() });
    bench.clock.advanceTo(10);
    expect(of('second')?.end).toMatchObject({ kind: 'let-go', after: ['endpoints'] });
    bench.send('fourth');
    bench.router.configure(TWO);
    expect(of('third')?.end).toMatchObject({ kind: 'let-go', after: ['configuration'] });
    bench.send('fifth');
    bench.router.configure(undefined);
    expect(of('fifth')?.end).toEqual({ kind: 'let-go', after: [], place: undefined });
  });

  test('[O439] says with which words a request was refused: at once, out of time, or at the end of the picker', () => {
    const { bench, of, stays } = benchWith({ plan: { ...PLAN, maxRequests: 2 } });
    bench.send('first');
    bench.send('late');
    bench.send('waits', { headers: new Map([['x-llm-d-inference-ttl', '500s']]) });
    expect(() => bench.send('one too many')).toThrow('the queue is full');
    const full = 'the queue is full: it holds at most 2 requests in all bands';
    expect(of('one too many')).toMatchObject({
      place: undefined,
      end: { kind: 'refused', error: { code: 'saturated', sentence: full } },
    });
    bench.clock.advanceTo(1010);
    expect(of('late')?.end).toMatchObject({ kind: 'refused', error: { code: 'queue-timeout' } });
    expect(stays.map(({ request: { id } }) => id)).toEqual(['one too many', 'late', 'waits']);
    bench.send('last');
    bench.router.stop();
    expect(of('last')?.end).toMatchObject({ kind: 'refused', error: { code: 'shutting-down' } });
  });

  test('[O439] says nothing about a request that goes on at once', () => {
    const { bench, stays } = benchWith();
    bench.end(bench.send('first'));
    bench.end(bench.send('second'));
    expect([stays, bench.router.stayOf('second')]).toEqual([[], undefined]);
  });
});
