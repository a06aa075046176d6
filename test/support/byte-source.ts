import { seededRandom } from '../../src/runtime/seeded-random.ts';

/** Gives bytes that nothing compresses: others at each call, and the same ones in each run. */
export function byteSource(seed: number): (length: number) => Buffer {
  const random = seededRandom(seed);
  return (length) => {
    const words = Uint32Array.from(
      { length: Math.ceil(length / 4) },
      () => random.next() * 2 ** 32,
    );
    return Buffer.from(words.buffer).subarray(0, length);
  };
}
