import type { Millis } from '../../../../framework/runtime.ts';
import { BodyTooLargeError } from '../../../../framework/runtime.ts';
import type { ApiConnection } from './api-connection.ts';
import { ApiContentError } from './kubernetes-error.ts';
import type { Pace } from './pace.ts';

/** About so many bytes are read at once: to parse them takes some milliseconds. */
const PAGE_BYTES = 1024 * 1024;
/** More than the largest object that an API server takes. A longer page is asked for in parts. */
const PAGE_BYTES_MAX: number = 8 * PAGE_BYTES;
/** Objects of a page, at first and at most. */
const [PAGE_OBJECTS, PAGE_OBJECTS_MAX] = [100, 500];
const PAGE_TIMEOUT_MS: Millis = 30_000;

export interface ObjectsQuestion {
  readonly path: string;
  readonly selector: Readonly<Record<string, string>>;
}

interface Page {
  readonly items?: unknown;
  readonly metadata?: { readonly resourceVersion?: unknown; readonly continue?: unknown };
}

/**
 * Visits all objects of a list, and resolves to its version. It is read in pages of about a MiB,
 * one after the other at the given pace. Rejects with an ApiStatusError, an ApiContentError, or
 * whatever the connection fails with.
 */
export async function listObjects(
  api: ApiConnection,
  { path, selector }: ObjectsQuestion,
  { pace, visit, signal }: ListParts,
): Promise<string> {
  let limit = PAGE_OBJECTS;
  let from: string | undefined;
  for (;;) {
    const query = {
      ...selector,
      limit: String(limit),
      ...(from !== undefined && { continue: from }),
    };
    let text: string;
    try {
      const limits = { bytesMax: PAGE_BYTES_MAX, timeoutMs: PAGE_TIMEOUT_MS };
      text = await api.text({ path, query, signal }, limits);
    } catch (error) {
      if (!(error instanceof BodyTooLargeError)) throw error;
      if (limit === 1) throw new ApiContentError(`a list of more than ${PAGE_BYTES_MAX} bytes`);
      limit = Math.ceil(limit / 8);
      continue;
    }
    const page = await pace.run(() => {
      signal.throwIfAborted();
      return pageOf(text);
    });
    await visitAll(page.items, { pace, visit, signal });
    if (page.more === undefined) return page.version;
    from = page.more;
    const bytesEach = text.length / Math.max(1, page.items.length);
    limit = Math.min(PAGE_OBJECTS_MAX, Math.max(1, Math.floor(PAGE_BYTES / bytesEach)));
  }
}

interface ListParts {
  readonly pace: Pick<Pace, 'run'>;
  readonly visit: (object: unknown) => void;
  readonly signal: AbortSignal;
}

/** Objects that are visited in one turn. */
const TURN_OBJECTS = 50;

async function visitAll(
  items: readonly unknown[],
  { pace, visit, signal }: ListParts,
): Promise<void> {
  for (let from = 0; from < items.length; from += TURN_OBJECTS) {
    await pace.run(() => {
      signal.throwIfAborted();
      for (const item of items.slice(from, from + TURN_OBJECTS)) visit(item);
    });
  }
}

function pageOf(text: string): {
  readonly items: readonly unknown[];
  readonly version: string;
  readonly more: string | undefined;
} {
  let page: Page | null;
  try {
    page = JSON.parse(text) as Page | null;
  } catch {
    throw new ApiContentError('no JSON');
  }
  const { items, metadata } = page ?? {};
  // An empty list of objects of Go can be null.
  if (items !== null && !Array.isArray(items)) throw new ApiContentError('a list without items');
  const { resourceVersion, continue: more } = metadata ?? {};
  return {
    items: items ?? [],
    version: typeof resourceVersion === 'string' ? resourceVersion : '',
    more: typeof more === 'string' && more !== '' ? more : undefined,
  };
}
