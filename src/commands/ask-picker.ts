import { ConfigError } from '../framework/error.ts';

/** A picker that is busy answers within this; what does not is none. */
const ANSWER_TIMEOUT_MS = 10_000;

/** Where the metrics port of a picker on this machine is unless said otherwise. */
export const DEFAULT_ADMIN = '127.0.0.1:9090';

export interface PickerQuestion {
  /** The command that asks, for what it says of a fault. */
  readonly command: string;
  /** The picker's metrics port: `host:port`, or a URL. */
  readonly admin: string;
  readonly path: string;
  readonly method?: 'GET' | 'POST' | undefined;
}

/** The document at a path of a running picker's metrics port. Throws ConfigError: no picker there, or what it refuses. */
export async function askPicker<T>({
  command,
  admin,
  path,
  method = 'GET',
}: PickerQuestion): Promise<T> {
  const fault = (message: string): ConfigError =>
    new ConfigError(command, [{ path: '--admin', message }]);
  let status: number;
  let text: string;
  try {
    const base = /^https?:\/\//.test(admin) ? admin : `http://${admin}`;
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
    const response = await fetch(new URL(path, base), { method, signal });
    status = response.status;
    text = await response.text();
  } catch (error) {
    throw fault(`no picker at ${admin} (${reasonOf(error)}); is it the port of --metrics-port?`);
  }
  const document = objectIn(text);
  if (document === undefined) {
    throw fault(`${admin} answered ${status} without JSON; is it the port of --metrics-port?`);
  }
  if (status === 200) return document as T;
  throw fault(typeof document['error'] === 'string' ? document['error'] : `answered ${status}`);
}

/** `fetch failed` alone helps nobody. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null
      ? (value as Readonly<Record<string, unknown>>)
      : undefined;
  } catch {
    return undefined;
  }
}
