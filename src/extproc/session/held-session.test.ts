import { describe, expect, it } from 'vitest';
import { inertRouted } from '../../../test/support/session/inert-routed.ts';
import { RoutingError } from '../../framework/error.ts';
import type { Placement, RoutedRequest } from '../../framework/routing.ts';
import { createOpenBody, headerOnlyRequest } from '../../openai/parsers/open-body.ts';
import { HeaderBlock } from '../codec/header-block.ts';
import type { StreamAction } from '../codec/stream-action.ts';
import { BODY_MODE, type ProtocolConfig, type StreamEvent } from '../codec/stream-event.ts';
import { MemoryPool } from '../streams/memory-pool.ts';
import { Session } from './session.ts';

const BODY = '{"model":"m","messages":[{"role":"user","content":"hello"}]}';
const PLAIN = { metadata: undefined, observing: false, protocol: undefined, wireBytes: 7 } as const;

/** A router whose requests all wait, and a session on it. */
function setUp() {
  const actions: StreamAction[] = [];
  const placements: Placement[] = [];
  const cancelled: Placement[] = [];
  const ended: string[] = [];
  const refused: string[] = [];
  let heldBytes = 0;
  const blocks = new MemoryPool();
  const unexpected = (): never => {
    throw new Error('every request waits');
  };
  const session = new Session(
    {
      router: {
        route: unexpected,
        enqueue: (_request, _options, placement) => void placements.push(placement),
        cancel: (placement) => void cancelled.push(placement),
      },
      openBody: createOpenBody({ bodyBytesMax: 10_000, hashSeed: 1 }),
      headerOnly: headerOnlyRequest,
      newRequestId: () => 'ours-1',
      earlyPickBytes: 20,
      halfCloseAfterPick: false,
      onFault: unexpected,
      onRefused: ({ code }) => void refused.push(code),
    },
    (action) => void actions.push(action),
    {
      blocks,
      hold: (bytes) => {
        heldBytes += bytes;
      },
      release: (bytes) => {
        heldBytes -= bytes;
      },
    },
  );
  const routed = inertRouted({
    request: { id: 'ours-1', model: 'm' } as RoutedRequest['request'],
    destinations: ['10.0.0.1:80'],
    done: (outcome) => void ended.push(outcome),
  });
  return {
    session,
    placements,
    cancelled,
    ended,
    refused,
    routed,
    blocks,
    heldBytes: () => heldBytes,
    kinds: () => actions.map(({ kind }) => kind),
  };
}

function headersOf(requestBodyMode: number, sendsBodyWithoutWaiting = false): StreamEvent {
  // A HeaderMap message with the path.
  const encoded = Buffer.from(
    '0a1d0a053a706174681a142f76312f636861742f636f6d706c6574696f6e73',
    'hex',
  );
  const protocol: ProtocolConfig = {
    requestBodyMode,
    responseBodyMode: BODY_MODE.none,
    sendsBodyWithoutWaiting,
  };
  const headers = new HeaderBlock(encoded);
  return { ...PLAIN, kind: 'request-headers', headers, endOfStream: false, protocol };
}

const body = (text: string, endOfStream: boolean): StreamEvent => ({
  ...PLAIN,
  kind: 'request-body',
  chunk: Buffer.from(text),
  endOfStream,
});

const MODES: readonly (readonly [
  string,
  StreamEvent,
  readonly StreamEvent[],
  readonly string[],
])[] = [
  [
    'full duplex',
    headersOf(BODY_MODE.fullDuplex),
    [body(BODY, true)],
    ['answer-request-headers', 'echo-request-body'],
  ],
  [
    'BUFFERED',
    headersOf(BODY_MODE.buffered),
    [body(BODY, true)],
    ['answer-request-headers', 'answer-request-body'],
  ],
  [
    'early pick',
    headersOf(BODY_MODE.streamed, true),
    [body(BODY.slice(0, 30), false), body(BODY.slice(30), true)],
    ['answer-request-headers', 'answer-request-body', 'answer-request-body'],
  ],
];

describe('a session whose request waits for an endpoint', () => {
  it.each(MODES)('[Q13] answers once it is placed, in %s', (_name, head, chunks, kinds) => {
    const { session, placements, kinds: sent, routed, ended, heldBytes } = setUp();
    for (const event of [head, ...chunks]) session.on(event);
    expect(placements.length).toBe(1);
    const before = sent();
    expect(before.length).toBeLessThan(kinds.length);
    expect(session.phase).toBe('waiting');
    expect(heldBytes()).toBeGreaterThan(BODY.length);
    placements[0]?.placed(routed);
    expect(sent()).toEqual(kinds);
    // The headers are kept to the end.
    expect(heldBytes()).toBe(7);
    session.closed('cancelled');
    expect(ended.length).toBe(1);
  });

  it.each(MODES)('[Q13] forgets it at once when its client goes, in %s', (_name, head, chunks) => {
    const { session, placements, cancelled, ended, kinds, routed } = setUp();
    for (const event of [head, ...chunks]) session.on(event);
    const before = kinds();
    session.closed('cancelled');
    expect(cancelled).toEqual(placements);
    placements[0]?.placed(routed);
    expect([kinds(), ended]).toEqual([before, ['aborted']]);
  });

  it('[V247] counts what events take that come meanwhile, however small they are', () => {
    const { session, placements, heldBytes, routed } = setUp();
    for (const event of [headersOf(BODY_MODE.fullDuplex), body(BODY, true)]) session.on(event);
    const before = heldBytes();
    for (let count = 0; count < 1000; count++) session.on({ ...PLAIN, kind: 'unknown' });
    expect(heldBytes() - before).toBeGreaterThan(200 * 1000);
    placements[0]?.placed(routed);
    expect(heldBytes()).toBe(7);
  });

  it('[Q13] answers a refusal with its status, and forgets a request that is refused meanwhile', () => {
    const { session, placements, refused, kinds } = setUp();
    for (const event of [headersOf(BODY_MODE.fullDuplex), body(BODY, true)]) session.on(event);
    placements[0]?.refused(new RoutingError('no-endpoints', 'gone'));
    expect([kinds(), refused]).toEqual([['immediate-response'], ['no-endpoints']]);
    const other = setUp();
    for (const event of [headersOf(BODY_MODE.fullDuplex), body(BODY, true)])
      other.session.on(event);
    other.session.refuse(new RoutingError('memory-full', 'no room'));
    expect(other.cancelled).toEqual(other.placements);
  });
});
