import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BODY,
  EARLY,
  mode,
  PLAIN,
  REQUEST_TRAILERS,
  RESPONSE_TRAILERS,
  requestBody,
  requestHeaders,
  requestPart,
  responseEnd,
  responseHeaders,
  responsePart,
  setUp,
} from '../../../test/support/session/session-bed.ts';
import { RoutingError } from '../../framework/error.ts';
import { BODY_MODE, type CloseReason, type StreamEvent } from '../codec/stream-event.ts';
import { BLOCK_BYTES } from '../streams/memory-pool.ts';

describe('what a session keeps', () => {
  it('[P17][P21][V13] survives any events in any order and never keeps a reservation, or a byte of the body', () => {
    const event: fc.Arbitrary<StreamEvent> = fc.oneof(
      fc
        .constantFrom(BODY, '{', '', 'x'.repeat(2000))
        .chain((text) => fc.boolean().map((end) => requestBody(text, end))),
      fc.constantFrom<StreamEvent>(
        requestHeaders(),
        requestHeaders(EARLY),
        requestHeaders(mode(BODY_MODE.buffered)),
        requestHeaders({ endOfStream: true } as never),
        REQUEST_TRAILERS,
        responseHeaders(),
        responseHeaders(500, true),
        responsePart('a'),
        responseEnd(''),
        RESPONSE_TRAILERS,
        { ...PLAIN, kind: 'unknown' },
      ),
    );
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 20 }),
        fc.constantFrom<CloseReason>('ended', 'cancelled', 'failed'),
        (events, reason) => {
          const { send, session, routed, ended, faults, heldBytes } = setUp();
          send(...events);
          expect(heldBytes()).toBeGreaterThanOrEqual(0);
          session.closed(reason);
          expect(heldBytes()).toBe(0);
          expect(ended).toHaveLength(routed.length);
          expect(faults).toEqual([]);
        },
      ),
      { seed: 852, numRuns: 10_000 },
    );
  });

  it('[V13] counts what it keeps of a body until the answers do, and refuses with what it has', () => {
    const { send, session, heldBytes, actions, routed, blocks } = setUp();
    send(requestHeaders(), requestPart(BODY.slice(0, 20)));
    expect([session.phase, heldBytes()]).toEqual(['uploading', 512 + 20 + 2]);
    send(requestPart(BODY.slice(20, 30)));
    const blockCost = BLOCK_BYTES + 512 + BLOCK_BYTES / 16;
    expect([heldBytes(), blocks.taken]).toEqual([512 + 20 + 2 + blockCost, 1]);
    expect(session.refuse(new RoutingError('memory-full', 'too much'))).toBe(true);
    expect([session.phase, heldBytes(), routed, blocks.taken]).toEqual(['refused', 0, [], 0]);
    expect(actions).toMatchObject([{ kind: 'immediate-response', status: 429 }]);
    const other = setUp();
    other.send(requestHeaders(), requestBody(BODY));
    expect([other.session.phase, other.heldBytes()]).toEqual(['picked', 0]);
    const gathered = setUp();
    gathered.send(requestHeaders(mode(BODY_MODE.buffered)));
    expect(gathered.session.phase).toBe('gathering');
  });
});
