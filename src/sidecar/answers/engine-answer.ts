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
  const begun = new PackedPieces();
  const edited = async (pieces: readonly Buffer[]): Promise<readonly Buffer[]> => {
    const inTurns = new TurnsReader();
    const line = await inTurns.joined(pieces);
    await pace.before(line);
    const event = eventIn(line);
    if (event === undefined) return [line];
    const start = event.byteOffset - line.byteOffset;
    const end = start + event.length;
    return [line.subarray(0, start), ...(await edit(event, inTurns)), line.subarray(end)];
  };
  for await (const chunk of body as AsyncIterable<Buffer>) {
    const passed: Buffer[] = [];
    for (const lines of linesIn(chunk, begun)) passed.push(...(await edited(lines)));
    yield* slicesOf(passed);
  }
  if (begun.bytes > 0) yield* slicesOf(await edited(begun.takePieces()));
}

/**
 * The lines that end in a chunk, in pieces: those that may be events one by one, and others that
 * follow each other together. What is left is kept as begun, up to `LINE_BYTES_MAX`.
 */
function* linesIn(chunk: Buffer, begun: PackedPieces): Generator<readonly Buffer[]> {
  let [from, lineStart] = [0, 0];
  for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, lineStart)) {
    const mayBeEvent = begun.bytes > 0 || chunk[lineStart] === DATA[0];
    if (mayBeEvent) {
      if (lineStart > from) yield [chunk.subarray(from, lineStart)];
      begun.add(chunk.subarray(lineStart, at + 1));
      yield begun.takePieces();
      from = at + 1;
    }
    lineStart = at + 1;
  }
  if (lineStart > from) yield [chunk.subarray(from, lineStart)];
  if (lineStart < chunk.length) begun.add(chunk.subarray(lineStart));
  if (begun.bytes > LINE_BYTES_MAX) yield begun.takePieces();
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
