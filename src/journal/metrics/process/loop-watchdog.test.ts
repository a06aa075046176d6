import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import type { LoopDelay } from '../../../runtime/clock/loop-delay.ts';
import { SimulatedClock } from '../../../runtime/clock/simulated-clock.ts';
import { LoopWatchdog } from './loop-watchdog.ts';

function setUp(delayMaxMs = 100) {
  const clock = new SimulatedClock();
  const registry = new Registry();
  const lines: string[] = [];
  const logged: object[] = [];
  let delay: LoopDelay = { p99Ms: 1, maxMs: 4 };
  const log = {
    warn: (fields: object, line: string) => {
      logged.push(fields);
      lines.push(`warn ${line}`);
    },
    info: (_fields: object, line: string) => void lines.push(`info ${line}`),
  };
  const watchdog = new LoopWatchdog({ delayMaxMs, read: () => delay, clock, registry, log });
  const after = (p99Ms: number): string | undefined => {
    delay = { p99Ms, maxMs: 2 * p99Ms };
    clock.step(clock.now() + 5000);
    return watchdog.trouble();
  };
  return { watchdog, registry, lines, logged, after, clock };
}

describe('the watchdog of the event loop', () => {
  it('[V79] says that the loop is late, once, and when it is over', () => {
    const { lines, after } = setUp();
    expect(after(90)).toBeUndefined();
    expect(after(101)).toMatch(/the event loop is 101 ms late \(p99\) since \d{4}-/);
    expect(after(1300)).toContain('1,300 ms late');
    // Below the bound, but not clearly.
    expect(after(80)).toContain('80 ms late');
    expect(after(40)).toBeUndefined();
    expect(after(90)).toBeUndefined();
    expect(lines).toEqual([
      'warn the event loop is late: requests wait for their decisions',
      'info the event loop is in time again',
    ]);
  });

  it('[O524] logs no more than three digits after the point', () => {
    const { logged, after } = setUp();
    after(121.53075100000001);
    expect(logged).toEqual([{ p99Ms: 121.531, maxMs: 243.062, delayMaxMs: 100 }]);
  });

  it('[V79] shows the delay on the metrics page', async () => {
    const { registry, after } = setUp();
    after(200);
    const page = await registry.metrics();
    expect(page).toContain('pointsman_event_loop_delay_seconds{quantile="0.99"} 0.2\n');
    expect(page).toContain('pointsman_event_loop_delay_seconds{quantile="1"} 0.4\n');
    expect(page).toContain('pointsman_event_loop_late 1\n');
  });

  it('without a bound measures and finds nothing late', () => {
    const { after } = setUp(0);
    expect(after(5000)).toBeUndefined();
  });
});
