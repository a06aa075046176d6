import { type Command, Option } from 'commander';
import { UnreadableFile } from '../../files/following/read-followed.ts';
import { readToken } from '../../files/following/token-file.ts';
import { adminUrl } from './admin-url.ts';
import { CommandFailure } from './command-errors.ts';

const ANSWER_TIMEOUT_MS = 10_000;
const OTHER_PORTS = 'is it the --extproc-port, which is for Envoy, or one with TLS, for https://…?';
export const HINT = 'give the address of its --metrics-port with --admin';

/** The reason for which `fetch` refuses some ports, as browsers do. */
const RESERVED_PORT =
  'HTTP clients never ask this port, as it belongs to another protocol (X11, IRC and such): choose another from 1 to 65535, such as 9090';

/** Replaces OpenSSL’s own text, which names a line of its sources. */
const NO_TLS =
  'the TLS handshake failed: is it a port without TLS, for http://…, or are its versions of TLS too old?';

/** Codes of errors whose text names a flag of Node, which these commands do not take. */
const UNKNOWN_AUTHORITY = /^(?:UNABLE_TO_|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED)/;
const NO_AUTHORITY =
  'its certificate is of an authority that is not known here: name the authority’s file in the variable NODE_EXTRA_CA_CERTS';

/**
 * A port with TLS closes a connection without TLS, and one that wants a certificate of its clients
 * closes a connection that has none.
 */
const HUNG_UP =
  'it closed the connection without an answer: does it want TLS (https://…; a picker with --metrics-cert-dir), or a certificate of its clients (--metrics-client-ca-file), which these commands have not?';

/** A picker on this machine, by its default port. */
export const PICKER_HERE = '127.0.0.1:9090';

/** Where a running picker is. */
export interface AdminFlags {
  /** The picker's metrics port: `host:port`, or a URL. */
  readonly admin: string;
  /** The file with its administrators' token. */
  readonly adminTokenFile?: string | undefined;
}

interface PickerQuestion extends AdminFlags {
  readonly path: string;
  readonly method?: 'GET' | 'POST' | undefined;
  /** What to say where the picker has nothing at the path, because it runs without that part. */
  readonly absent?: string | undefined;
  readonly answerTimeoutMs?: number;
}

/** Adds `--admin <address>`, a picker on this machine by default, and `--admin-token-file`. */
export function addAdminOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--admin <address>', 'the picker’s --metrics-port: host:port, or a URL').default(
        PICKER_HERE,
      ),
    )
    .addOption(adminTokenOption('the picker’s token, for changes and for pickers elsewhere'));
}

/**
 * The token's option, alike for `serve` and the commands that ask it, so that one variable serves
 * both.
 */
export function adminTokenOption(description: string): Option {
  return new Option('--admin-token-file <file>', description).env('POINTSMAN_ADMIN_TOKEN_FILE');
}

/**
 * The document at a path of a running picker's metrics port. Throws CommandFailure if there is no
 * picker, and with its message if it refuses.
 */
export async function askPicker<T>(question: PickerQuestion): Promise<T> {
  const { admin, absent } = question;
  const { status, text } = await answerOf(question);
  const document = parsedObject(text);
  if (document === undefined) {
    throw new CommandFailure(`no picker at ${admin}: it answered ${status} without JSON; ${HINT}`);
  }
  if (status === 200) return document as T;
  const { error, paths } = document;
  // A path that the picker does not know is answered with those that it knows.
  if (status === 404 && paths !== undefined && absent !== undefined) {
    throw new CommandFailure(absent);
  }
  // Other servers answer errors of a shape of their own, such as those of OpenAI's API.
  throw new CommandFailure(
    typeof error === 'string'
      ? error
      : `no picker at ${admin}: it answered ${status} as another server; ${HINT}`,
  );
}

/** Throws CommandFailure where no whole answer comes in time. */
async function answerOf({
  admin,
  adminTokenFile,
  path,
  method = 'GET',
  answerTimeoutMs = ANSWER_TIMEOUT_MS,
}: PickerQuestion): Promise<{ readonly status: number; readonly text: string }> {
  const token = adminTokenFile && adminTokenIn(adminTokenFile);
  const headers = token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } };
  const url = adminUrl(admin, path, HINT);
  try {
    const signal = AbortSignal.timeout(answerTimeoutMs);
    const response = await fetch(url, { method, signal, ...headers });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    const isLate = error instanceof Error && error.name === 'TimeoutError';
    throw noPicker(admin, isLate ? noAnswerWithin(answerTimeoutMs) : error);
  }
}

/** The token in the file of `--admin-token-file`; says what makes the file where it is not there. */
export function adminTokenIn(file: string): string {
  try {
    return readToken('--admin-token-file', file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new UnreadableFile(
      `${file} is not there; \`pointsman serve --admin-token-file ${file}\` makes it when it starts`,
    );
  }
}

/** A failure that names the address, the reason, and what to do. */
export function noPicker(admin: string, error: unknown): CommandFailure {
  return new CommandFailure(`no picker at ${admin} (${reasonOf(error)}); ${HINT}`);
}

/** The system's own words for it say neither that it was the time nor how long. */
export function noAnswerWithin(ms: number): Error {
  return new Error(`no answer within ${ms / 1000} s: it is overloaded, or packets are lost`);
}

/** Why there is no answer. The cause says more than `fetch failed`. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  if (cause.message === 'bad port') return RESERVED_PORT;
  // Something is there that is no server of HTTP without TLS, such as the picker's gRPC port.
  const { code = '' } = cause as NodeJS.ErrnoException;
  if (code.startsWith('ERR_SSL_')) return NO_TLS;
  if (UNKNOWN_AUTHORITY.test(code)) return NO_AUTHORITY;
  if (cause.message === 'other side closed') return HUNG_UP;
  const isOther = cause.name === 'HTTPParserError';
  return isOther ? `it does not answer HTTP/1.1: ${OTHER_PORTS}` : cause.message;
}

function parsedObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return value instanceof Object ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}
