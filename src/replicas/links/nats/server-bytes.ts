import type { ServerInfo } from '@nats-io/nats-core';

/** A greeting names each server of the cluster in about 25 bytes; all other lines are shorter. */
const LINE_BYTES_MAX: number = 64 * 1024;
/** What NATS can be set to take. */
const PAYLOAD_BYTES_MAX: number = 64 * 1024 * 1024;
/** Other servers of the cluster that are tried when this one is gone. */
const CLUSTER_URLS_MAX = 64;

const NO_BYTES = new Uint8Array(0);
const CR = 13;
const LF = 10;

const SIMPLE_LINE = /^(?:\+OK|PING|PONG|-ERR[ \t].*)$/i;
const INFO_LINE = /^INFO[ \t]+(?<json>.+)$/i;
const MESSAGE_LINE =
  /^MSG[ \t]+[^ \t]+[ \t]+\d{1,9}[ \t]+(?:[^ \t]+[ \t]+)?(?<bytes>\d{1,9})[ \t]*$/i;
const HEADERS_LINE =
  /^HMSG[ \t]+[^ \t]+[ \t]+\d{1,9}[ \t]+(?:[^ \t]+[ \t]+)?(?<headers>\d{1,9})[ \t]+(?<bytes>\d{1,9})[ \t]*$/i;

/** The server sends what the protocol of NATS does not allow, or without an end. */
export class BadServer extends Error {}

interface ServerBytesOptions {
  /** A message with more is left out. */
  readonly messageBytesMax: number;
  /** A message of so many bytes is left out. */
  readonly onTooLarge: (bytes: number) => void;
}

/**
 * Follows the bytes of a NATS server, and lets its client read only whole lines of the protocol and
 * messages within a bound: the client itself keeps what has no end, and stops for ever at garbage.
 */
export class ServerBytes {
  readonly #options: ServerBytesOptions;
  /** The beginning of a line whose end has not come. */
  #line = Buffer.alloc(0);
  /** What is still to come of a message. */
  #payload = 0;
  #isLeftOut = false;
  /** A payload has ended, and its line has not. */
  #isEnding = false;

  constructor(options: ServerBytesOptions) {
    this.#options = options;
  }

  /**
   * What the client is to read of these bytes, in order and in few pieces: for each piece it waits
   * several turns of the microtasks, and a message in two it copies. Throws BadServer with the
   * reason.
   */
  push(bytes: Uint8Array): readonly Uint8Array[] {
    const parts: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; ) {
      if (this.#payload > 0) {
        const part = bytes.subarray(at, at + this.#payload);
        if (!this.#isLeftOut) addPart(parts, part);
        this.#payload -= part.length;
        at += part.length;
      } else {
        const end = bytes.indexOf(LF, at);
        const to = end < 0 ? bytes.length : end + 1;
        const part = bytes.subarray(at, to);
        if (this.#line.length + part.length > LINE_BYTES_MAX) {
          throw new BadServer(`it sends a line of more than ${LINE_BYTES_MAX} bytes`);
        }
        const line = this.#line.length === 0 ? part : Buffer.concat([this.#line, part]);
        at = to;
        this.#line = end < 0 ? Buffer.from(line) : Buffer.alloc(0);
        const read = end < 0 ? undefined : this.#readLine(line);
        if (read !== undefined) addPart(parts, read);
      }
    }
    return parts;
  }

  /** What the client is to read of a line with its end. */
  #readLine(line: Uint8Array): Uint8Array | undefined {
    if (line.at(-2) !== CR) throw new BadServer('it sends a line without a carriage return');
    const text = Buffer.from(line.buffer, line.byteOffset, line.length - 2).toString('latin1');
    if (this.#isEnding) {
      if (text !== '') throw new BadServer('a message does not end where it should');
      this.#isEnding = false;
      const isLeftOut = this.#isLeftOut;
      this.#isLeftOut = false;
      return isLeftOut ? undefined : line;
    }
    if (text.includes('\r')) throw new BadServer('it sends a carriage return within a line');
    const message = MESSAGE_LINE.exec(text) ?? HEADERS_LINE.exec(text);
    if (message !== null) return this.#beginMessage(message.groups ?? {}) ? line : undefined;
    if (SIMPLE_LINE.test(text)) return line;
    if (!INFO_LINE.test(text)) throw new BadServer('it does not speak the protocol of NATS');
    return Buffer.from(`INFO ${JSON.stringify(infoOf(line))}\r\n`);
  }

  /** Whether the client is to read the message. */
  #beginMessage({ headers = '0', bytes: text }: { readonly [group: string]: string }): boolean {
    const bytes = Number(text);
    if (bytes > PAYLOAD_BYTES_MAX || Number(headers) > bytes) {
      throw new BadServer(`it announces a message of ${bytes} bytes with ${headers} of headers`);
    }
    this.#payload = bytes;
    this.#isEnding = true;
    this.#isLeftOut = bytes > this.#options.messageBytesMax;
    if (this.#isLeftOut) this.#options.onTooLarge(bytes);
    return !this.#isLeftOut;
  }
}

/** Adds bytes to the last part where they stand right behind it in memory. */
function addPart(parts: Uint8Array[], part: Uint8Array): void {
  const { buffer, byteOffset, length } = parts.at(-1) ?? NO_BYTES;
  if (buffer === part.buffer && byteOffset + length === part.byteOffset) {
    parts[parts.length - 1] = new Uint8Array(buffer, byteOffset, length + part.length);
  } else parts.push(part);
}

/**
 * What a server says of itself in a line, with the servers of its cluster that the client can read.
 * Throws BadServer.
 */
export function infoOf(line: Uint8Array): ServerInfo {
  const { json = '' } = INFO_LINE.exec(Buffer.from(line).toString().trimEnd())?.groups ?? {};
  let info: Partial<ServerInfo> | null;
  try {
    info = JSON.parse(json) as Partial<ServerInfo> | null;
  } catch {
    throw new BadServer('it does not greet as a NATS server');
  }
  const { version, max_payload: maxPayload, nonce, connect_urls: urls } = info ?? {};
  const isInfo =
    typeof version === 'string' &&
    /\d+\.\d+\.\d+/.test(version) &&
    (maxPayload === undefined || (Number.isSafeInteger(maxPayload) && maxPayload > 0)) &&
    (nonce === undefined || typeof nonce === 'string');
  if (!isInfo) throw new BadServer('its greeting has no version, or a payload that cannot be');
  const others = Array.isArray(urls) ? urls.filter(isAddress).slice(0, CLUSTER_URLS_MAX) : [];
  return { ...(info as ServerInfo), connect_urls: others };
}

function isAddress(url: unknown): url is string {
  return typeof url === 'string' && URL.canParse(`nats://${url}`) && URL.canParse(`http://${url}`);
}
