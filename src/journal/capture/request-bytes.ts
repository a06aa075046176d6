import { DEFAULT_FLOW, type InferenceRequest, type PromptBlocks } from '../../framework/request.ts';
import { BlockNumbers } from './block-numbers.ts';
import { type LineBytes, utf8 } from './line-bytes.ts';
import { DEFAULT_BLOCK_TOKENS } from './record-of.ts';

/** A request's headers and fairness id as a capture may hold them. */
export interface Redacted {
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly fairness: string;
}

const KEYS = {
  r: utf8(',"r":{"id":'),
  model: utf8(',"model":'),
  promptTokens: utf8(',"promptTokens":'),
  bodyBytes: utf8(',"bodyBytes":'),
  blocks: utf8(',"blocks":[['),
  run: utf8('],['),
  comma: utf8(','),
  blocksEnd: utf8(']]'),
  others: utf8(',"others":['),
  other: utf8('['),
  otherBlocks: utf8('[['),
  noBlocks: utf8('[]'),
  otherEnd: utf8(']'),
  rest: utf8(',"rest":'),
  blockTokens: utf8(',"blockTokens":'),
  notStreaming: utf8(',"streaming":false'),
  outputTokensMax: utf8(',"outputTokensMax":'),
  mediaItems: utf8(',"mediaItems":'),
  answerLength: utf8(',"answerLength":'),
  priority: utf8(',"priority":'),
  fairness: utf8(',"fairness":'),
  objective: utf8(',"objective":'),
  ttftSloMs: utf8(',"ttftSloMs":'),
  tpotSloMs: utf8(',"tpotSloMs":'),
  rewrite: utf8(',"rewrite":'),
  headers: utf8(',"headers":'),
  requestEnd: utf8('}'),
} as const;

/**
 * Writes the part of a line that describes a request. Leaves out values that are the default of
 * `recordOf`, and gives each block of a prompt a number: a capture holds no hash of text.
 */
export class RequestBytes {
  readonly #bytes: LineBytes;
  readonly #blocks = new BlockNumbers();

  constructor(bytes: LineBytes) {
    this.#bytes = bytes;
  }

  /** The field of the request, with all that it has. */
  write(request: InferenceRequest, { headers, fairness }: Redacted): void {
    const bytes = this.#bytes;
    bytes.raw(KEYS.r);
    bytes.text(request.id);
    bytes.textField(KEYS.model, request.model);
    bytes.numberField(KEYS.promptTokens, request.promptTokens);
    bytes.numberField(KEYS.bodyBytes, request.bodyBytes);
    this.writePrompt(request.prompt);
    if (!request.streaming) bytes.raw(KEYS.notStreaming);
    if (request.priority !== 0) bytes.numberField(KEYS.priority, request.priority);
    if (request.fairnessId !== DEFAULT_FLOW) bytes.textField(KEYS.fairness, fairness);
    bytes.numberField(KEYS.outputTokensMax, request.outputTokensMax);
    bytes.numberField(KEYS.mediaItems, request.mediaItems);
    if (request.answerLength !== undefined)
      bytes.textField(KEYS.answerLength, request.answerLength);
    bytes.numberField(KEYS.ttftSloMs, request.ttftSloMs);
    bytes.numberField(KEYS.tpotSloMs, request.tpotSloMs);
    if (request.objective !== undefined) bytes.textField(KEYS.objective, request.objective);
    bytes.jsonField(KEYS.rewrite, request.rewrite);
    bytes.jsonField(KEYS.headers, headers);
    bytes.raw(KEYS.requestEnd);
  }

  /** A prompt, or a conversation with its answer, as runs of numbers. */
  writePrompt(prompt: PromptBlocks): void {
    const { blockTokens, others } = prompt;
    const rest = this.#writeRuns(prompt, KEYS.blocks);
    this.#bytes.numberField(KEYS.rest, rest);
    if (blockTokens !== DEFAULT_BLOCK_TOKENS)
      this.#bytes.numberField(KEYS.blockTokens, blockTokens);
    if (others !== undefined) this.#writeOthers(others);
  }

  #writeOthers(others: readonly PromptBlocks[]): void {
    const bytes = this.#bytes;
    bytes.raw(KEYS.others);
    others.forEach((text, index) => {
      if (index > 0) bytes.raw(KEYS.comma);
      bytes.raw(KEYS.other);
      const rest = this.#writeRuns(text, KEYS.otherBlocks);
      if (text.count === 0) bytes.raw(KEYS.noBlocks);
      bytes.numberField(KEYS.comma, rest);
      bytes.raw(KEYS.otherEnd);
    });
    bytes.raw(KEYS.otherEnd);
  }

  /** Nothing where there is no full block. Returns the number of what is behind the last one. */
  #writeRuns({ count, words, hasRest }: PromptBlocks, opening: Uint8Array): number | undefined {
    const firstNew = this.#blocks.next;
    let first = 0;
    let length = 0;
    for (let word = 0; word < 2 * count; word += 2) {
      const afterNew = length > 0 && first + length > firstNew;
      const number = this.#blocks.numberOf(
        words[word] as number,
        words[word + 1] as number,
        afterNew,
      );
      if (length > 0 && number === first + length) length += 1;
      else {
        if (length > 0) this.#run(first, length, KEYS.run);
        else this.#bytes.raw(opening);
        first = number;
        length = 1;
      }
    }
    if (length > 0) this.#run(first, length, KEYS.blocksEnd);
    if (hasRest !== true) return undefined;
    const afterNew = length > 0 && first + length > firstNew;
    const [low, high] = [words[2 * count] as number, words[2 * count + 1] as number];
    return this.#blocks.numberOf(low, high, afterNew);
  }

  #run(first: number, length: number, after: Uint8Array): void {
    const bytes = this.#bytes;
    bytes.number(first);
    bytes.raw(KEYS.comma);
    bytes.number(length);
    bytes.raw(after);
  }
}
