import { afterEach, describe, expect, it } from 'vitest';
import { envoyBinary, eventually, startStack } from '../../bench/support/stack.ts';
import {
  type AnswersBed,
  type AnswerWay,
  CLOSES,
  ejectedWhileSomeLeave,
  IS_LEFT,
  PART,
  RESETS,
  SENDS_NO_CHUNK,
  startAnswersBed,
  WHOLE,
} from '../support/answers-bed.ts';

/** Of four servers behind a real Envoy, one breaks its answers off, and clients leave another. */

const binary = await envoyBinary();
const ENDS_TOO_SOON: AnswerWay = (response) => void response.end(PART);

describe.skipIf(binary === undefined)('a server whose answers break off', () => {
  let bed: AnswersBed | undefined;
  afterEach(() => bed?.stop());

  it.each([
    ['[V430] that ends them too soon', ENDS_TOO_SOON, 'envoy'],
    ['[V473] that resets its connections', RESETS, 'envoy'],
    ['[V473] that closes its connections', CLOSES, 'envoy'],
    ['[V473] that breaks the rules of HTTP', SENDS_NO_CHUNK, 'envoy'],
    ['[V473] that resets connections, unseen by the picker,', RESETS, 'envoy-efficient'],
  ] as const)(
    '[V431] %s is ejected, and one that clients leave is not',
    async (_, way, wiring) => {
      bed = await startAnswersBed([WHOLE, WHOLE, way, IS_LEFT], (options) =>
        startStack(binary ?? '', { ...options, envoy: wiring }),
      );
      expect(await ejectedWhileSomeLeave(bed)).toEqual([bed.addresses[2]]);
      await eventually(
        () => bed?.inFlight() ?? Promise.resolve(0),
        (requests) => requests === 0,
      );
    },
    60_000,
  );
});
