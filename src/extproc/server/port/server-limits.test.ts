import { expect, it } from 'vitest';
import { limitsFor } from './server-limits.ts';

const MiB = 2 ** 20;

it('[V13] takes a quarter of the memory for bodies, and less where the process itself needs most', () => {
  const shares = [128, 512, 1024, 4096].map((memory) =>
    Math.round(limitsFor(memory * MiB).heldBytesMax / MiB),
  );
  expect(shares).toEqual([8, 102, 256, 1024]);
});

it('[V15] allows as many streams as half of the memory holds', () => {
  expect(limitsFor(2048 * MiB).streamsMax).toBe(21_845);
});
