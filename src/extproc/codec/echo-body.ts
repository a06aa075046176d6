import type { ReportedValue } from '../../framework/observer.ts';
import type { SentMemory, StreamAction } from './stream-action.ts';
import { BODY_MODE } from './stream-event.ts';

/** Some proxies cap a chunk at 64 KiB, framing included. */
const CHUNK_BYTES_MAX = 62_000;

/**
 * Makes as few groups as it can, of chunks as they came and of views where one is cut. An empty body
 * gives one empty group, to carry the end.
 */
function chunked(body: readonly Uint8Array[]): readonly (readonly Uint8Array[])[] {
  const [only] = body;
  // Most bodies and all chunks of answers: lists that grow by `push` would take 300 bytes for each.
  if (body.length === 1 && only !== undefined && isOneMessage(only)) return [[only]];
  const groups: Uint8Array[][] = [];
  let group: Uint8Array[] = [];
  let roomBytes = CHUNK_BYTES_MAX;
  for (const chunk of body) {
    for (let at = 0; at < chunk.length; ) {
      const isWhole = at === 0 && chunk.length <= roomBytes;
      const piece = isWhole ? chunk : chunk.subarray(at, at + roomBytes);
      group.push(piece);
      at += piece.length;
      roomBytes -= piece.length;
      if (roomBytes === 0) {
        groups.push(group);
        group = [];
        roomBytes = CHUNK_BYTES_MAX;
      }
    }
  }
  if (group.length > 0 || groups.length === 0) groups.push(group);
  return groups;
}

function isOneMessage({ length }: Uint8Array): boolean {
  return length > 0 && length <= CHUNK_BYTES_MAX;
}

interface WithLast {
  readonly metadata?: readonly ReportedValue[] | undefined;
  /** Where the body is, if it is to be freed when it has left. */
  readonly memory?: SentMemory | undefined;
}

/** Sends a body back in pieces; the last one carries `endOfStream` and what comes `withLast`. */
export function echoBody(
  emit: (action: StreamAction) => void,
  kind: 'echo-request-body' | 'echo-response-body',
  body: readonly Uint8Array[],
  endOfStream: boolean,
  withLast?: WithLast,
): void {
  const groups = chunked(body);
  for (let index = 0; index < groups.length; index++) {
    const pieces = groups[index] as readonly Uint8Array[];
    const isLast = index === groups.length - 1;
    if (isLast && withLast !== undefined) emit({ kind, pieces, endOfStream, ...withLast });
    else emit({ kind, pieces, endOfStream: endOfStream && isLast });
  }
}

/** Answers a chunk of a request that nothing waits for, as the body mode asks. Copies it. */
export function passChunk(
  emit: (action: StreamAction) => void,
  chunk: Uint8Array,
  endOfStream: boolean,
  requestBodyMode: number,
): void {
  if (requestBodyMode === BODY_MODE.fullDuplex)
    echoBody(emit, 'echo-request-body', [Buffer.from(chunk)], endOfStream);
  else emit({ kind: 'answer-request-body', pick: undefined });
}
