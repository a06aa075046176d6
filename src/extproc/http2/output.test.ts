import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FakeTransport } from '../../../test/support/session/http2-peer.ts';
import { FRAME, HEAD_BYTES } from './frames.ts';
import { Output } from './output.ts';

const SEED = 20_261_122;

it('[V194] bytes that have not left stay as they are, whenever they leave', () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('frame'), bytes: fc.nat(3000) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('frame'), bytes: fc.nat(100_000) }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('flush'), bytes: fc.constant(0) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('stop'), bytes: fc.constant(0) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave'), bytes: fc.constant(0) }) },
  );
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 120 }), (steps) => {
      const transport = new FakeTransport();
      const output = new Output();
      const expected: Buffer[] = [];
      steps.forEach(({ kind, bytes }, at) => {
        if (kind === 'flush') output.flush(transport);
        else if (kind === 'stop') transport.idle = false;
        else if (kind === 'leave') {
          transport.leave();
          transport.idle = true;
        } else {
          const payload = Buffer.alloc(bytes, at + 1);
          output.head(FRAME.data, at, at, bytes);
          output.append(payload);
          const head = Buffer.alloc(HEAD_BYTES);
          head.writeUIntBE(bytes, 0, 3);
          head[4] = at;
          head.writeUInt32BE(at, 5);
          expected.push(head, payload);
        }
      });
      output.flush(transport);
      transport.leave();
      expect(output.empty).toBe(true);
      expect(transport.take().equals(Buffer.concat(expected))).toBe(true);
    }),
    { seed: SEED, numRuns: 100 },
  );
});
