import { describe, expect, it } from 'vitest';
import { BadServer } from './server-bytes.ts';
import { ServerTime } from './server-time.ts';

/** A server whose every chunk takes 1 ms to read, which is idle for so long after each. */
function read(chunks: number, idleMs: number): { readonly now: number; readonly heldMs: number } {
  const time = new ServerTime(0);
  let [now, heldMs] = [0, 0];
  for (let n = 0; n < chunks; n++) {
    now += 1;
    const holdMs = time.worked(1, now);
    heldMs += holdMs;
    now += Math.max(holdMs, idleMs);
  }
  return { now, heldMs };
}

describe('[V411] the time that a NATS server takes', () => {
  it('is not limited below two fifths, nor in a burst', () => {
    expect(read(100_000, 1.6).heldMs).toBe(0);
    expect(read(300, 0).heldMs).toBe(0);
  });

  it('is held to two fifths, and a server that goes on is left', () => {
    const held = read(1000, 0);
    expect(1000 / held.now).toBeLessThan(0.52);
    expect(held.heldMs).toBeGreaterThan(500);
    expect(() => read(5000, 0)).toThrow(BadServer);
  });
});
