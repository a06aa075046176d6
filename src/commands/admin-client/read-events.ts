import { createParser } from 'eventsource-parser';
import { adminUrl } from './admin-url.ts';
import { type AdminFlags, adminTokenIn, HINT, noAnswerWithin, noPicker } from './ask-picker.ts';
import { CommandFailure } from './command-errors.ts';

const CONNECT_TIMEOUT_MS = 10_000;
/** A picker sends something each second. */
const SILENT_MAX_MS = 10_000;
/** A user who sees nothing for this long wonders what happens. */
const NOTE_AFTER_MS = 2000;
const EVENT_CHARS_MAX = 16 * 1024 * 1024;

interface EventsWait {
  /** Gets a line where the first event is awaited for long. */
  readonly note?: (line: string) => void;
  readonly connectTimeoutMs?: number;
  readonly silentMaxMs?: number;
  readonly noteAfterMs?: number;
}

/**
 * Calls back with each event of a running picker's stream, as JSON, until it ends or the callback
 * returns false. Throws CommandFailure if there is no picker, if it falls silent, and with its
 * message if it refuses.
 */
export async function readEvents<T>(
  flags: AdminFlags,
  path: string,
  onEvent: (event: T) => boolean,
  waiting: EventsWait = {},
): Promise<void> {
  const { note, noteAfterMs = NOTE_AFTER_MS } = waiting;
  const late = setTimeout(
    () => note?.(`waiting for the picker at ${flags.admin}, which has not answered yet`),
    noteAfterMs,
  );
  try {
    const follow = (event: T): boolean => {
      clearTimeout(late);
      return onEvent(event);
    };
    await followEvents(flags, path, follow, waiting);
  } finally {
    clearTimeout(late);
  }
}

async function followEvents<T>(
  flags: AdminFlags,
  path: string,
  onEvent: (event: T) => boolean,
  { connectTimeoutMs = CONNECT_TIMEOUT_MS, silentMaxMs = SILENT_MAX_MS }: EventsWait,
): Promise<void> {
  const { admin } = flags;
  const abort = new AbortController();
  const response = await connected(flags, path, abort, connectTimeoutMs);
  if (!response.ok || response.body === null) throw await refused(admin, response);
  let wanted = true;
  const parser = createParser({
    onEvent: ({ data }) => {
      wanted = wanted && onEvent(JSON.parse(data) as T);
    },
    maxBufferSize: EVENT_CHARS_MAX,
  });
  const decoder = new TextDecoder();
  const silence = setTimeout(() => abort.abort(silent(admin, silentMaxMs)), silentMaxMs);
  try {
    for await (const chunk of response.body) {
      silence.refresh();
      parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
      if (!wanted) break;
    }
  } finally {
    clearTimeout(silence);
    abort.abort();
  }
}

async function connected(
  { admin, adminTokenFile }: AdminFlags,
  path: string,
  abort: AbortController,
  timeoutMs: number,
): Promise<Response> {
  const token = adminTokenFile && adminTokenIn(adminTokenFile);
  const headers = token === undefined ? undefined : { authorization: `Bearer ${token}` };
  const url = adminUrl(admin, path, HINT);
  const timer = setTimeout(() => abort.abort(noAnswerWithin(timeoutMs)), timeoutMs);
  try {
    return await fetch(url, { signal: abort.signal, ...(headers && { headers }) });
  } catch (error) {
    throw noPicker(admin, error);
  } finally {
    clearTimeout(timer);
  }
}

function silent(admin: string, ms: number): CommandFailure {
  return new CommandFailure(
    `the picker at ${admin} has sent nothing for ${ms / 1000} s: it stands still, or packets are lost`,
  );
}

async function refused(admin: string, response: Response): Promise<CommandFailure> {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    if (typeof error === 'string') return new CommandFailure(error);
  } catch {
    // It is no picker that answers, or an older one.
  }
  return new CommandFailure(`${admin} answered ${response.status}; is it the --metrics-port?`);
}
