import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { RoutingError } from '../../framework/error.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { JsonObject } from '../../openai/json/json-object.ts';
import { PackedPieces } from '../../runtime/network/pieces/packed-pieces.ts';
import { slicesOf } from '../../runtime/network/pieces/slices-of.ts';
import { TextPace, TurnsReader } from '../body/read-in-turns.ts';

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
 * Gets a JSON text of an answer, which need not be valid, and returns it or another one, in pieces.
 * Texts may be long, so they are read in turns.
 */
type AnswerEdit = (json: Buffer, inTurns: TurnsReader) => Promise<readonly Buffer[]>;

/** An answer whose JSON texts are edited: each event of a stream, or the whole. */
export function editedAnswer(answer: EngineAnswer, edit: AnswerEdit): EngineAnswer {
  if (!isPlain(answer)) return answer;
  const { body } = answer;
  const pieces = isEventStream(answer) ? editedLines(body, edit) : editedWhole(body, edit);
  return { ...answer, body: Readable.from(pieces, { objectMode: false }) };
}

async function* editedLines(body: Readable, edit: AnswerEdit) {
  const pace = new TextPace();
  for await (const pieces of linesOf(body)) {
    const inTurns = new TurnsReader();
    const line = await inTurns.joined(pieces);
    await pace.before(line);
    const event = eventIn(line);
    if (event === undefined) yield* slicesOf([line]);
    else {
      const start = event.byteOffset - line.byteOffset;
      const end = start + event.length;
      yield* slicesOf([
        line.subarray(0, start),
        ...(await edit(event, inTurns)),
        line.subarray(end),
      ]);
    }
  }
}

/**
 * Lines with their ends, each by itself where a chunk has several; a line of more than
 * `LINE_BYTES_MAX` bytes in parts. Each in pieces.
 */
async function* linesOf(body: Readable): AsyncGenerator<readonly Buffer[]> {
  const begun = new PackedPieces();
  for await (const chunk of body as AsyncIterable<Buffer>) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      const part = chunk.subarray(from, at + 1);
      from = at + 1;
      if (begun.bytes === 0) yield [part];
      else {
        begun.add(part);
        yield begun.takePieces();
      }
    }
    if (from < chunk.length) begun.add(chunk.subarray(from));
    if (begun.bytes > LINE_BYTES_MAX) yield begun.takePieces();
  }
  if (begun.bytes > 0) yield begun.takePieces();
}

async function* editedWhole(body: Readable, edit: AnswerEdit) {
  const begun = new PackedPieces();
  let passes = false;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    if (!passes) begun.add(chunk);
    if (begun.bytes > WHOLE_BYTES_MAX) {
      passes = true;
      yield* begun.takePieces();
    } else if (passes) yield chunk;
  }
  if (begun.bytes === 0) return;
  const inTurns = new TurnsReader();
  yield* slicesOf(await edit(await inTurns.joined(begun.takePieces()), inTurns));
}

/** The object that a text of an engine is; undefined for another one, and for what is no JSON. */
export async function answeredObject(
  json: Buffer,
  inTurns: TurnsReader,
): Promise<JsonObject | undefined> {
  try {
    return await inTurns.objectIn(json);
  } catch (error) {
    if (error instanceof RoutingError) return undefined;
    throw error;
  }
}
