import { RoutingError } from '../../framework/error.ts';

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** Decodes the raw bytes of a JSON string, in order and without its quotes. */
export function decodeJsonString(pieces: readonly Uint8Array[]): string {
  const raw = utf8.decode(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces));
  return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
}

/** Whether the byte is a hexadecimal digit in either case. */
export function isHexDigit(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x41 && byte <= 0x46) ||
    (byte >= 0x61 && byte <= 0x66)
  );
}

/** How an error names a byte: as a character if it is visible. */
export function byteName(byte: number): string {
  return byte > 0x20 && byte < 0x7f
    ? `'${String.fromCharCode(byte)}'`
    : `byte 0x${byte.toString(16).padStart(2, '0')}`;
}

export function invalidRequest(message: string): RoutingError {
  return new RoutingError('invalid-request', message);
}

export function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

export function invalidJson(message: string): Error {
  return invalidRequest(`the request body is not valid JSON: ${message}`);
}

/** What a scanner calls for each part of a text. */
export interface JsonHandler {
  // `end` is an offset in the whole text: behind the brace, bracket, name or value.
  beginObject(end: number): void;
  endObject(end: number): void;
  beginArray(end: number): void;
  endArray(end: number): void;
  key(name: string, end: number): void;
  /**
   * A piece of a string, raw: the bytes of the kernel's `input` from `from` to before `to`, valid
   * during the call. `end`: before the quote, if it is the last.
   */
  stringPart(from: number, to: number, last: boolean, end: number): void;
  integer(value: number, end: number): void;
  /** `true`, `false`, `null`, or a number that is not a plain integer. */
  scalar(text: string, end: number): void;
}
