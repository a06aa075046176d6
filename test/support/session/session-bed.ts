import { HeaderBlock } from '../../../src/extproc/codec/header-block.ts';
import type { StreamAction } from '../../../src/extproc/codec/stream-action.ts';
import {
  BODY_MODE,
  type ProtocolConfig,
  type StreamEvent,
} from '../../../src/extproc/codec/stream-event.ts';
import { Session, type SessionOptions } from '../../../src/extproc/session/session.ts';
import { MemoryPool } from '../../../src/extproc/streams/memory-pool.ts';
import type { Endpoint, LoadReport } from '../../../src/framework/endpoint.ts';
import { RoutingError } from '../../../src/framework/error.ts';
import type { Outcome, Usage } from '../../../src/framework/observer.ts';
import type { InferenceRequest, PromptBlocks } from '../../../src/framework/request.ts';
import type { RoutedRequest, RouteOptions, Router } from '../../../src/framework/routing.ts';
import { createOpenBody, headerOnlyRequest } from '../../../src/openai/parsers/open-body.ts';

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

interface Ended {
  readonly outcome: Outcome;
  readonly usage: Usage | undefined;
}

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

export const SCORED: NonNullable<RoutedRequest['scored']> = [
  { endpoint: { address: '10.0.0.1:8000' } as Endpoint, score: 0.5 },
];

/** A session on a router that remembers everything, and what became of its events. */
export interface SessionBed {
  readonly session: Session;
  readonly send: (...events: readonly StreamEvent[]) => void;
  readonly actions: StreamAction[];
  readonly kinds: () => readonly StreamAction['kind'][];
  readonly routed: readonly {
    readonly request: InferenceRequest;
    readonly options: RouteOptions | undefined;
  }[];
  readonly read: readonly InferenceRequest[];
  readonly conversations: readonly PromptBlocks[];
  readonly served: readonly string[];
  readonly loadReports: readonly LoadReport[];
  readonly windows: readonly number[];
  readonly ended: readonly Ended[];
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
  const actions: StreamAction[] = [];
  const responseMarks = new Map<string, string>();
  const ended: Ended[] = [];
  const served: string[] = [];
  const loadReports: LoadReport[] = [];
  const windows: number[] = [];
  const read: InferenceRequest[] = [];
  const routed: { request: InferenceRequest; options: RouteOptions | undefined }[] = [];
  const conversations: PromptBlocks[] = [];
  const faults: unknown[] = [];
  const refused: string[] = [];
  let firstTokens = 0;
  let heldBytes = 0;
  const blocks = new MemoryPool();
  const route = (request: InferenceRequest, options?: RouteOptions): RoutedRequest => {
    if (options?.subset?.length === 0) throw new RoutingError('no-endpoints', 'none of 3');
    routed.push({ request, options });
    let open = true;
    return {
      request,
      endpoint: {} as Endpoint,
      destinations,
      scored: SCORED,
      headers: new Map(),
      responseHeaders: () => responseMarks,
      firstToken: () => {
        firstTokens += 1;
      },
      served: (address) => void served.push(address),
      loadReported: (report) => void loadReports.push(report),
      windowReported: (tokens) => void windows.push(tokens),
      bodyRead: (complete) => void read.push(complete),
      wantsAnswer: true,
      responseMetadata,
      answered: (conversation) => void conversations.push(conversation),
      done: (outcome, usage) => {
        if (open) ended.push({ outcome, usage });
        open = false;
      },
    };
  };
  const session = new Session(
    {
      router: { route, ...(prepare && { prepare }) },
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
  return {
    blocks,
    heldBytes: () => heldBytes,
    responseMarks,
    session,
    actions,
    ended,
    served,
    loadReports,
    windows,
    read,
    conversations,
    routed,
    faults,
    refused,
    firstTokens: () => firstTokens,
    kinds: () => actions.map(({ kind }) => kind),
    send: (...events: readonly StreamEvent[]) => {
      for (const event of events) session.on(event);
    },
  };
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
