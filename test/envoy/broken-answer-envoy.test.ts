import { afterEach, describe, expect, it } from 'vitest';
import { envoyBinary, eventually } from '../../bench/support/stack.ts';
import {
  type AnswersBed,
  type AnswerWay,
  IS_LEFT,
  PART,
  startAnswersBed,
  WHOLE,
} from '../support/answers-bed.ts';

/** Of four servers behind a real Envoy, one breaks its answers off, and clients leave another. */

const binary = await envoyBinary();
const ENDS_TOO_SOON: AnswerWay = (response) => void response.end(PART);
/** After a piece that Envoy has passed on. */
const cut =
  (way: AnswerWay): AnswerWay =>
  (response) => {
    response.write(PART);
    setTimeout(way, 20, response);
  };
const RESETS = cut(({ socket }) => socket?.resetAndDestroy());
const CLOSES = cut(({ socket }) => socket?.destroy());
const SENDS_NO_CHUNK = cut(({ socket }) => socket?.write('no chunk\r\n'));
/** More than an endpoint is ejected after, by far. */
const LEAVING = 40;

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
      bed = await startAnswersBed(binary ?? '', [WHOLE, WHOLE, way, IS_LEFT], wiring);
      let left = 0;
      const out = new Set<string>();
      for (let sent = 0; sent < 2000 && (left < LEAVING || out.size === 0); sent++) {
        if ((await bed.ask()) === 'left') left += 1;
        for (const address of await bed.ejected()) out.add(address);
      }
      expect(left).toBeGreaterThanOrEqual(LEAVING);
      expect([...out]).toEqual([bed.addresses[2]]);
      await eventually(
        () => bed?.inFlight() ?? Promise.resolve(0),
        (requests) => requests === 0,
      );
    },
    60_000,
  );
});
