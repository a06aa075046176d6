import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { Millis } from '../../framework/runtime.ts';

/** What an engine answers, as far as it has come. */
export interface EngineAnswer {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
  /** Since when it is decoded from the results of other servers; undefined without those. */
  readonly decodedSince?: Millis | undefined;
  /** Whether the body of the request is needed until the end of the answer. */
  readonly needsRequest?: boolean;
}

const NEWLINE = 0x0a;
const DATA = Buffer.from('data:');
/** A longer answer in one piece passes unchanged. */
const WHOLE_BYTES_MAX = 16 * 1024 * 1024;
/**
 * The beginning of a longer line of a stream passes unchanged, and its rest as lines of their own.
 */
const LINE_BYTES_MAX = 4 * 1024 * 1024;

/** Whether an answer is a stream of events. */
export function isEventStream({ headers }: Pick<EngineAnswer, 'headers'>): boolean {
  return /event-stream/i.test(String(headers['content-type'] ?? ''));
}

/** Whether the bytes of an answer are its text. */
export function isPlain({ headers }: Pick<EngineAnswer, 'headers'>): boolean {
  return /^(?:identity)?$/i.test(String(headers['content-encoding'] ?? ''));
}

/** The JSON of a line `data: {…}` of an event stream; undefined for other lines. */
export function eventIn(line: Buffer): Buffer | undefined {
  if (!line.subarray(0, DATA.length).equals(DATA)) return undefined;
  const brace = line.indexOf('{');
  return brace < 0 ? undefined : line.subarray(brace, line.lastIndexOf('}') + 1);
}

/**
 * An answer whose JSON texts are edited: each event of a stream, or the whole. An edit gets the
 * text, and returns it or another one.
 */
export function editedAnswer(answer: EngineAnswer, edit: (json: Buffer) => Buffer): EngineAnswer {
  if (!isPlain(answer)) return answer;
  const { body } = answer;
  const pieces = isEventStream(answer) ? editedLines(body, edit) : editedWhole(body, edit);
  return { ...answer, body: Readable.from(pieces, { objectMode: false }) };
}

async function* editedLines(body: Readable, edit: (json: Buffer) => Buffer) {
  for await (const line of linesOf(body)) {
    const event = eventIn(line);
    if (event === undefined) yield line;
    else {
      const start = line.indexOf(event);
      const end = start + event.length;
      yield Buffer.concat([line.subarray(0, start), edit(event), line.subarray(end)]);
    }
  }
}

/**
 * Lines with their ends, each by itself where a chunk has several; a line of more than
 * `LINE_BYTES_MAX` bytes in pieces.
 */
async function* linesOf(body: Readable): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of body as AsyncIterable<Buffer>) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      yield rest.subarray(0, end + 1);
      rest = rest.subarray(end + 1);
    }
    if (rest.length > LINE_BYTES_MAX) {
      yield rest;
      rest = Buffer.alloc(0);
    }
  }
  if (rest.length > 0) yield rest;
}

async function* editedWhole(body: Readable, edit: (json: Buffer) => Buffer) {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    if (bytes > WHOLE_BYTES_MAX) {
      yield chunk;
      continue;
    }
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > WHOLE_BYTES_MAX) yield Buffer.concat(chunks);
  }
  if (bytes <= WHOLE_BYTES_MAX && bytes > 0) yield edit(Buffer.concat(chunks));
}
