import { describe, expect, it } from 'vitest';
import { KeptObjects } from './kept-objects.ts';
import type { KubeObject } from './kube-objects.ts';

interface Large extends KubeObject {
  readonly text: string;
}

const large = (name: string, kib: number): Large => ({
  metadata: { name },
  text: 'x'.repeat(kib * 1024 - 50),
});

describe('the objects of one kind', () => {
  it('[V343] take 64 MiB at most; those that are known have room before others', () => {
    const first = new KeptObjects<Large>();
    for (let n = 0; n < 8; n++) first.set(large(`known-${n}`, 200));
    const kept = new KeptObjects<Large>(undefined, first);
    for (let n = 0; n < 1000; n++) kept.set(large(`flood-${n}`, 200));
    for (let n = 0; n < 8; n++) kept.set(large(`known-${n}`, 200));
    kept.endOfList();
    expect(kept.all.size).toBe(327);
    expect([...kept.all.keys()].filter((key) => key.startsWith('/known'))).toHaveLength(8);
    expect(kept.leftOut).toBe(681);
    expect(kept.hasRoomAgain).toBe(false);
    for (const object of [...kept.all.values()].slice(0, 200)) kept.delete(object);
    expect(kept.hasRoomAgain).toBe(true);
  });

  it('[V343] are left out where one is too large, and leave where they become so', () => {
    const kept = new KeptObjects<Large>(16 * 1024);
    kept.set(large('a', 8));
    kept.set(large('b', 17));
    expect([...kept.all.keys()]).toEqual(['/a']);
    kept.set(large('a', 17));
    expect([kept.all.size, kept.leftOut]).toEqual([0, 2]);
  });

  it('[V592] that are too large wait for no room, and count once, until they are smaller or gone', () => {
    const kept = new KeptObjects<Large>(16 * 1024);
    for (let n = 0; n < 3; n++) kept.set(large('a', 17));
    kept.set(large('b', 17));
    expect([kept.leftOut, kept.hasRoomAgain]).toEqual([2, false]);
    kept.set(large('a', 8));
    kept.delete(large('b', 17));
    expect([kept.leftOut, kept.all.size]).toEqual([0, 1]);
    for (let n = 0; n < 1001; n++) kept.set(large(String(n), 17));
    expect([kept.leftOut, kept.hasRoomAgain]).toEqual([1001, false]);
  });
});
