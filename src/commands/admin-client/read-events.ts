import { createParser } from 'eventsource-parser';
import { readToken } from '../../files/following/token-file.ts';
import { adminUrl } from './admin-url.ts';
import { type AdminFlags, HINT, noPicker } from './ask-picker.ts';
import { CommandFailure } from './command-errors.ts';

const CONNECT_TIMEOUT_MS = 10_000;
/** A picker sends something each second. */
const SILENT_MAX_MS = 10_000;
const EVENT_CHARS_MAX = 16 * 1024 * 1024;

/**
 * Calls back with each event of a running picker's stream, as JSON, until it ends or the callback
 * returns false. Throws CommandFailure if there is no picker, if it falls silent, and with its
 * message if it refuses.
 */
export async function readEvents<T>(
  { admin, adminTokenFile }: AdminFlags,
  path: string,
  onEvent: (event: T) => boolean,
  silentMaxMs: number = SILENT_MAX_MS,
): Promise<void> {
  const token = adminTokenFile && readToken('--admin-token-file', adminTokenFile);
  const url = adminUrl(admin, path, HINT);
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), CONNECT_TIMEOUT_MS);
  const response = await fetch(url, {
    signal: abort.signal,
    ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
  }).catch((error: unknown) => {
    throw noPicker(admin, error);
  });
  clearTimeout(timer);
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
