import type { Usage } from '../../framework/observer.ts';
import type { UsageReader } from '../answers/usage-reader.ts';
import { type FrameHandler, GrpcFrames } from '../grpc/grpc-frames.ts';
import { type FieldContent, type ProtoHandler, ProtoScanner } from '../grpc/proto-scanner.ts';

type Count = 'prompt' | 'completion' | 'cached';

/** By path: the counts in GenerateResponse, of a piece of an answer (1) and of a whole one (2). */
const GENERATE: ReadonlyMap<number, Count> = new Map([
  [1024 + 2, 'prompt'],
  [1024 + 3, 'completion'],
  [1024 + 4, 'cached'],
  [2 * 1024 + 3, 'prompt'],
  [2 * 1024 + 4, 'completion'],
  [2 * 1024 + 5, 'cached'],
]);
/** The fields of EmbedResponse. */
const EMBED: ReadonlyMap<number, Count> = new Map([[2, 'prompt']]);

/** Reads the counts of vLLM's gRPC answers. Each count is the last one that was not zero. */
export class GrpcUsage implements UsageReader, FrameHandler, ProtoHandler {
  readonly #countOf: ReadonlyMap<number, Count>;
  readonly #messages: boolean;
  #frames = new GrpcFrames(this);
  #scanner: ProtoScanner | undefined;
  #counts = new Map<Count, number>();
  /** From the first bytes on that are no message: nothing behind them can be trusted. */
  #givenUp = false;

  constructor(method: 'generate' | 'embed') {
    this.#countOf = method === 'embed' ? EMBED : GENERATE;
    this.#messages = method === 'generate';
  }

  push(chunk: Buffer): void {
    if (this.#givenUp) return;
    try {
      this.#frames.push(chunk);
    } catch {
      this.#givenUp = true;
    }
  }

  take(): Usage | undefined {
    const counts = this.#counts;
    this.#counts = new Map();
    this.#frames = new GrpcFrames(this);
    this.#givenUp = false;
    if (counts.size === 0) return undefined;
    return {
      promptTokens: counts.get('prompt') ?? 0,
      completionTokens: counts.get('completion') ?? 0,
      cachedTokens: counts.get('cached'),
      // A count of 0 is not in a message, in whichever it is.
      ...(this.#messages && { leavesOutZero: true }),
    };
  }

  begin(length: number, start: number, compressed: boolean): void {
    this.#scanner = compressed ? undefined : new ProtoScanner(this, start, length);
  }

  part(piece: Uint8Array): void {
    this.#scanner?.push(piece);
  }

  end(): void {
    this.#scanner = undefined;
  }

  contentOf(path: number): FieldContent {
    return this.#messages && (path === 1 || path === 2) ? 'message' : 'skip';
  }

  varint(path: number, value: number): void {
    const count = this.#countOf.get(path);
    if (count !== undefined && value > 0 && Number.isSafeInteger(value)) {
      this.#counts.set(count, value);
    }
  }

  bytes(): void {}
}
