import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { KV_LINK_DEFAULT, KvFabric, KvPort, type KvTransfer } from './kv-fabric.ts';

/** 1,000 tokens take 100 ms when alone. */
const link = { gigabytesPerSecond: 1, setupMs: 2, bytesPerToken: 100_000 };
const ports = (count: number): readonly KvPort[] =>
  Array.from({ length: count }, () => new KvPort(link));

/** When each transfer ends, all begun at the times given. */
async function endsOf(
  transfers: readonly (KvTransfer & { readonly at?: number })[],
): Promise<readonly number[]> {
  const clock = new SimulatedClock();
  const fabric = new KvFabric(clock);
  const ends: number[] = [];
  for (const [index, { at = 0, ...transfer }] of transfers.entries()) {
    clock.setTimer(at, () =>
      fabric.send(transfer, () => {
        ends[index] = Math.round(1000 * clock.now()) / 1000;
      }),
    );
  }
  await clock.run();
  return ends;
}

describe('the network between stubs', () => {
  it('takes set-up plus bytes over speed when nothing else goes on', async () => {
    const [a, b] = ports(2);
    expect(await endsOf([{ tokens: 1000, from: a, to: b }])).toEqual([102]);
    expect(await endsOf([{ tokens: 0, from: a, to: b }])).toEqual([2]);
  });

  it('shares a sender’s link evenly, and gives all of it to the last transfer', async () => {
    const [a, b, c] = ports(3);
    const transfers = [
      { tokens: 1000, from: a, to: b },
      { tokens: 500, from: a, to: c },
    ];
    // Half speed each until the short one has gone, at 2 + 100; then the rest of the long one
    // alone.
    expect(await endsOf(transfers)).toEqual([152, 102]);
  });

  it('shares a receiver’s link as well', async () => {
    const [a, b, c] = ports(3);
    const transfers = [
      { tokens: 1000, from: a, to: c },
      { tokens: 1000, from: b, to: c },
    ];
    expect(await endsOf(transfers)).toEqual([202, 202]);
  });

  it('lets both directions of a link go at full speed', async () => {
    const [a, b] = ports(2);
    const transfers = [
      { tokens: 1000, from: a, to: b },
      { tokens: 1000, from: b, to: a },
    ];
    expect(await endsOf(transfers)).toEqual([102, 102]);
  });

  it('slows what is under way when another joins', async () => {
    const [a, b, c] = ports(3);
    const transfers = [
      { tokens: 1000, from: a, to: b },
      { at: 50, tokens: 1000, from: a, to: c },
    ];
    // Alone to 52, half of it left; half speed to 152; the other has half left and is alone again.
    expect(await endsOf(transfers)).toEqual([152, 202]);
  });

  it('counts no transfer at a port when all are over', async () => {
    const [a, b] = ports(2);
    await endsOf([
      { tokens: 10, from: a, to: b },
      { tokens: 10, from: a },
    ]);
    expect([a?.sending, a?.receiving, b?.sending, b?.receiving]).toEqual([0, 0, 0, 0]);
  });

  it('[O331] ends every transfer after weeks, when the clock is too coarse for the time of a few bytes', () => {
    const weeksMs = 100 * 86_400_000;
    const clock = new SimulatedClock();
    const fabric = new KvFabric(clock);
    const port = new KvPort(KV_LINK_DEFAULT);
    clock.advanceTo(weeksMs);
    let ended = 0;
    for (let tokens = 1; tokens <= 200; tokens++) {
      clock.setTimer(tokens / 7, () =>
        fabric.send({ tokens, from: port, to: port }, () => (ended += 1)),
      );
    }
    for (let steps = 0; steps < 10_000 && clock.step(); steps++) continue;
    expect(ended).toBe(200);
  });
});
