import type { Millis } from '../../../../framework/runtime.ts';
import { parseBounded } from '../../../../openai/json/parse-bounded.ts';
import type { ApiConnection } from './api-connection.ts';
import { ApiContentError, ApiStatusError } from './kubernetes-error.ts';
import { Lines } from './lines.ts';
import type { ObjectsQuestion } from './list-objects.ts';
import type { Pace } from './pace.ts';

/** More than the largest object that an API server takes. */
const LINE_BYTES_MAX: number = 4 * 1024 * 1024;
/** An event that has begun is whole within this time. */
const LINE_MS: Millis = 30_000;
/** Events are taken in turns of about this time, so that decisions do not wait. */
const TURN_MS: Millis = 2;
const TYPES: ReadonlySet<unknown> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK']);

interface WatchParts {
  readonly pace: Pick<Pace, 'run' | 'now'>;
  readonly onOpen: () => void;
  /** Not called once the signal is aborted. */
  readonly onEvent: (type: string, object: unknown) => void;
  readonly signal: AbortSignal;
}

/**
 * Reads the events of a watch, and resolves when the server ends it. No byte is read before the
 * events in those before have been taken at the given pace. Rejects with the error that the server
 * sends, an ApiContentError, or whatever the connection fails with.
 */
export async function watchObjects(
  api: ApiConnection,
  { path, selector }: ObjectsQuestion,
  resourceVersion: string,
  { pace, onOpen, onEvent, signal }: WatchParts,
): Promise<void> {
  const watch = { watch: 'true', resourceVersion, allowWatchBookmarks: 'true' };
  const body = await api.open({ path, query: { ...selector, ...watch }, signal });
  if (signal.aborted) return;
  onOpen();
  const lines = new Lines(LINE_BYTES_MAX);
  let begunAt: Millis | undefined;
  for await (const chunk of body) {
    lines.push(chunk);
    let more = true;
    while (more) {
      more = await pace.run(() => {
        const until = pace.now() + TURN_MS;
        do {
          if (signal.aborted) return false;
          const line = lines.next();
          if (line === undefined) return false;
          begunAt = undefined;
          takeEvent(line, onEvent);
        } while (pace.now() < until);
        return true;
      });
    }
    if (signal.aborted) return;
    if (!lines.open) begunAt = undefined;
    else if (pace.now() - (begunAt ??= pace.now()) > LINE_MS) {
      throw new ApiContentError(`an event that has not ended after ${LINE_MS / 1000} s`);
    }
  }
}

function takeEvent(line: Uint8Array, onEvent: WatchParts['onEvent']): void {
  const event = parseBounded([line]);
  if (event === undefined)
    throw new ApiContentError('an event that is no JSON, or has too many parts');
  const { type, object } = (event ?? {}) as { readonly type?: unknown; readonly object?: unknown };
  if (typeof object !== 'object' || object === null) throw new ApiContentError('no event');
  if (type === 'ERROR') throw errorOf(object);
  if (!TYPES.has(type)) throw new ApiContentError('an event of an unknown type');
  onEvent(type as string, object);
}

/** The server accepts a watch that it refuses, and then sends the refusal as an event. */
function errorOf(object: { readonly code?: unknown }): Error {
  const text = JSON.stringify(object);
  return typeof object.code === 'number'
    ? new ApiStatusError(object.code, text)
    : new ApiContentError('an error without a code');
}
