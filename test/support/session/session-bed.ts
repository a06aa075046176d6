import { HeaderBlock } from '../../../src/extproc/codec/header-block.ts';
import type { StreamAction } from '../../../src/extproc/codec/stream-action.ts';
import {
  BODY_MODE,
  type ProtocolConfig,
  type StreamEvent,
} from '../../../src/extproc/codec/stream-event.ts';
import { Session, type SessionOptions } from '../../../src/extproc/session/session.ts';
import type { ByteAccount } from '../../../src/extproc/streams/byte-account.ts';
import { MemoryPool } from '../../../src/extproc/streams/memory-pool.ts';
import type { RoutedRequest, Router } from '../../../src/framework/routing.ts';
import { createOpenBody, headerOnlyRequest } from '../../../src/openai/parsers/open-body.ts';
import { RememberingRouter } from './remembering-router.ts';

export const BODY: string = '{"model":"m","messages":[{"role":"user","content":"hello"}]}';

/** A HeaderMap message, as Envoy encodes it. All lengths here are below 128. */
export function headers(pairs: Readonly<Record<string, string>>): HeaderBlock {
  const field = (number: number, content: Buffer): Buffer =>
    Buffer.concat([Buffer.from([(number << 3) | 2, content.length]), content]);
  const encoded = Object.entries(pairs).map(([name, value]) =>
    field(1, Buffer.concat([field(1, Buffer.from(name)), field(3, Buffer.from(value))])),
  );
  return new HeaderBlock(Buffer.concat(encoded));
}

export const REQUEST: Readonly<Record<string, string>> = {
  ':method': 'POST',
  ':path': '/v1/chat/completions',
  'x-request-id': 'theirs',
};

/** What most events do not carry. */
export const PLAIN = {
  metadata: undefined,
  observing: false,
  protocol: undefined,
  wireBytes: 0,
} as const;
export const REQUEST_TRAILERS: StreamEvent = { ...PLAIN, kind: 'request-trailers' };
export const RESPONSE_TRAILERS: StreamEvent = responseTrailers({});

/** The trailers of an answer. */
export function responseTrailers(pairs: Readonly<Record<string, string>>): StreamEvent {
  return { ...PLAIN, kind: 'response-trailers', headers: headers(pairs) };
}

/** A session on a router that remembers everything, and what became of its events. */
export interface SessionBed
  extends Pick<
    RememberingRouter,
    'routed' | 'read' | 'conversations' | 'served' | 'loadReports' | 'windows' | 'ended'
  > {
  readonly session: Session;
  readonly send: (...events: readonly StreamEvent[]) => void;
  readonly actions: StreamAction[];
  readonly kinds: () => readonly StreamAction['kind'][];
  readonly firstTokens: () => number;
  /** Headers that plugins set on answers. */
  readonly responseMarks: Map<string, string>;
  readonly faults: readonly unknown[];
  /** Codes of refusals. */
  readonly refused: readonly string[];
  readonly blocks: MemoryPool;
  readonly heldBytes: () => number;
}

/** `destinations` are those of every pick. */
export function setUp(
  overrides: Partial<SessionOptions> = {},
  destinations: readonly string[] = ['10.0.0.1:8000'],
  prepare?: NonNullable<Router['prepare']>,
  responseMetadata?: RoutedRequest['responseMetadata'],
): SessionBed {
  const router = new RememberingRouter(destinations, responseMetadata);
  const actions: StreamAction[] = [];
  const faults: unknown[] = [];
  const refused: string[] = [];
  const memory = new CountedMemory();
  const session = new Session(
    {
      router: { route: router.route, ...(prepare && { prepare }) },
      openBody: createOpenBody({ bodyBytesMax: 10_000_000, hashSeed: 1 }),
      headerOnly: headerOnlyRequest,
      newRequestId: () => 'ours-1',
      earlyPickBytes: 1000,
      halfCloseAfterPick: false,
      onFault: (error) => void faults.push(error),
      onRefused: ({ code }) => void refused.push(code),
      ...overrides,
    },
    (action) => void actions.push(action),
    memory,
  );
  const { routed, read, conversations, served, loadReports, windows, ended } = router;
  return {
    session,
    actions,
    faults,
    refused,
    routed,
    read,
    conversations,
    served,
    loadReports,
    windows,
    ended,
    responseMarks: router.responseMarks,
    firstTokens: () => router.firstTokens,
    blocks: memory.blocks,
    heldBytes: () => memory.heldBytes,
    kinds: () => actions.map(({ kind }) => kind),
    send: (...events: readonly StreamEvent[]) => {
      for (const event of events) session.on(event);
    },
  };
}

/** The memory of one stream, which has no bound. */
class CountedMemory implements ByteAccount {
  readonly blocks = new MemoryPool();
  heldBytes = 0;

  hold(bytes: number): void {
    this.heldBytes += bytes;
  }

  release(bytes: number): void {
    this.heldBytes -= bytes;
  }
}

export function requestHeaders(
  extra: Partial<StreamEvent> & { readonly pairs?: Record<string, string> } = {},
): StreamEvent {
  const { pairs = {}, ...rest } = extra;
  return {
    ...PLAIN,
    kind: 'request-headers',
    headers: headers({ ...REQUEST, ...pairs }),
    endOfStream: false,
    ...rest,
  } as StreamEvent;
}

export const requestBody = (text: string, endOfStream = true): StreamEvent => ({
  ...PLAIN,
  kind: 'request-body',
  chunk: Buffer.from(text),
  endOfStream,
});
/** A piece of a request's body that is not the last. */
export const requestPart = (text: string): StreamEvent => requestBody(text, false);
export const responseHeaders = (
  status = 200,
  endOfStream = false,
  pairs: Readonly<Record<string, string>> = {},
): StreamEvent => ({
  ...PLAIN,
  kind: 'response-headers',
  headers: headers({ ':status': String(status), ...pairs }),
  endOfStream,
});
const responseBody = (text: string, endOfStream: boolean): StreamEvent => ({
  ...PLAIN,
  kind: 'response-body',
  chunk: Buffer.from(text),
  endOfStream,
});
/** A piece of an answer that is not the last, and its last one. */
export const responsePart = (text: string): StreamEvent => responseBody(text, false);
export const responseEnd = (text: string): StreamEvent => responseBody(text, true);

export function mode(
  requestBodyMode: number,
  responseBodyMode: number = BODY_MODE.fullDuplex,
  sendsBodyWithoutWaiting = false,
): { readonly protocol: ProtocolConfig } {
  return { protocol: { requestBodyMode, responseBodyMode, sendsBodyWithoutWaiting } };
}
export const EARLY: ReturnType<typeof mode> = mode(BODY_MODE.streamed, BODY_MODE.none, true);

export function textOf(
  actions: readonly StreamAction[],
  kind: 'echo-request-body' | 'echo-response-body',
): string {
  return actions
    .flatMap((action) => (action.kind === kind ? action.pieces : []))
    .map((piece) => Buffer.from(piece).toString())
    .join('');
}
