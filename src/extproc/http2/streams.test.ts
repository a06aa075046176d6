import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FakeTransport } from '../../../test/support/session/http2-peer.ts';
import { InFlightMap } from '../../framework/request-map.ts';
import { PeerSettings } from './peer-settings.ts';
import { Sender } from './sender.ts';
import { Http2Stream } from './stream.ts';

const SEED = 20_261_122;
const connection = new Sender(new FakeTransport(), new PeerSettings(), () => undefined);

it('[V195] the table of streams does what a Map does', () => {
  // Few numbers with the same home, and many that follow each other.
  const id = fc.oneof(
    fc.nat(200).map((at) => 2 * at + 1),
    fc.nat(20).map((at) => 128 * at + 1),
  );
  const step = fc.record({ id, add: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
      const table = new InFlightMap<number, Http2Stream>((number) => number);
      const map = new Map<number, Http2Stream>();
      for (const { id, add } of steps) {
        if (!add) {
          table.delete(id);
          map.delete(id);
        } else if (!map.has(id)) {
          const stream = new Http2Stream(id, new Map(), connection);
          table.set(id, stream);
          map.set(id, stream);
        }
        expect(table.size).toBe(map.size);
      }
      for (const { id } of steps) expect(table.get(id)).toBe(map.get(id));
      expect(new Set(table.values())).toEqual(new Set(map.values()));
    }),
    { seed: SEED, numRuns: 200 },
  );
});
