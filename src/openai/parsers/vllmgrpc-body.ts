import type { InferenceRequest } from '../../framework/request.ts';
import type { UsageReader } from '../answers/usage-reader.ts';
import type { Replacement } from '../body/body-edit.ts';
import type { BodyReader } from '../body/body-reader.ts';
import { checkRepeated } from '../body/control-fields.ts';
import { readHeaderFields } from '../body/header-fields.ts';
import type { ReadParts } from '../body/read-parts.ts';
import { GrpcMessage } from '../grpc/grpc-message.ts';
import type { FieldContent, FieldPlace, ProtoHandler } from '../grpc/proto-scanner.ts';
import { invalidRequest } from '../json/json-text.ts';
import { chainPrompt, chainRuns } from '../prompts/block-chain.ts';
import { BYTES_PER_TOKEN, ContentBlocks } from '../prompts/content-blocks.ts';
import { GrpcUsage } from './grpc-usage.ts';

/** Paths in GenerateRequest; the first two are also those of EmbedRequest. */
const FIELD = {
  tokenized: 2,
  inputIds: 2 * 1024 + 2,
  text: 3,
  samplingParams: 4,
  maxTokens: 4 * 1024 + 8,
  stream: 5,
  kvTransferParams: 6,
  mmInputs: 7,
  placeholder: 7 * 1024 + 5,
  mmHash: 7 * 1024 + 6,
} as const;

/** The key of a field that no message has, for values that servers must not read: they skip it. */
const UNKNOWN_KEY = (15 << 3) | 2;
const SEPARATOR: Uint8Array = Uint8Array.of(0x0a);
const UINT32_MAX = 0xffff_ffff;

/** Reads vLLM's GenerateRequest, or its EmbedRequest, in a gRPC frame. Keeps none of its bytes. */
export class VllmGrpcBody implements BodyReader, ProtoHandler {
  readonly #parts: ReadParts;
  readonly #method: 'generate' | 'embed';
  readonly #message: GrpcMessage;
  readonly #media: ContentBlocks;
  readonly #prompt: ContentBlocks;
  readonly #idBytes = new Uint8Array(BYTES_PER_TOKEN);
  readonly #replacements: Replacement[] = [];
  #input = false;
  #streaming = false;
  #outputTokensMax: number | undefined;
  #mediaItems = 0;

  constructor(parts: ReadParts, method: 'generate' | 'embed') {
    this.#parts = parts;
    this.#method = method;
    this.#message = new GrpcMessage(this, parts.bodyBytesMax);
    // The tag of a JSON body's token ids: the prompts of both share their blocks.
    this.#prompt = new ContentBlocks(parts.hash, 0);
    this.#media = new ContentBlocks(parts.hash, 1);
  }

  get complete(): boolean {
    return this.#message.complete;
  }

  get edit(): readonly Replacement[] | undefined {
    return this.#replacements.length === 0 ? undefined : this.#replacements;
  }

  push(chunk: Uint8Array): void {
    this.#message.push(chunk);
  }

  peek(): InferenceRequest {
    const { bodyBytes } = this.#message;
    const announced = Number(this.#parts.head.headers.get('content-length') ?? 0);
    const total = Math.max(bodyBytes, Number.isSafeInteger(announced) ? announced : 0);
    return this.#request(total, Math.ceil((total - bodyBytes) / BYTES_PER_TOKEN), chainRuns);
  }

  end(): InferenceRequest {
    this.#message.check();
    if (!this.#input) {
      const needed = this.#method === 'embed' ? 'tokenized' : 'tokenized or text';
      throw invalidRequest(`the ${this.#method} request has no input: it needs ${needed}`);
    }
    this.#media.flush();
    return this.#request(this.#message.bodyBytes, 0, chainPrompt);
  }

  answerBlocks(): undefined {
    return undefined;
  }

  usageReader(): UsageReader {
    return new GrpcUsage(this.#method);
  }

  contentOf(path: number, place: FieldPlace): FieldContent {
    if (path === FIELD.tokenized) this.#input = true;
    if (this.#method === 'generate') return this.#generateContentOf(path, place);
    if (path === FIELD.inputIds) return 'varints';
    return path === FIELD.tokenized ? 'message' : 'skip';
  }

  varint(path: number, value: number): void {
    if (path === FIELD.inputIds) this.#tokenId(value);
    else if (this.#method === 'embed') return;
    else if (path === FIELD.maxTokens) this.#outputTokensMax = Math.min(value, UINT32_MAX);
    else if (path === FIELD.stream) this.#streaming = value !== 0;
  }

  bytes(path: number, piece: Uint8Array): void {
    (path === FIELD.mmHash ? this.#media : this.#prompt).push(piece);
  }

  #generateContentOf(path: number, place: FieldPlace): FieldContent {
    switch (path) {
      case FIELD.tokenized:
      case FIELD.samplingParams:
      case FIELD.mmInputs:
        return 'message';
      case FIELD.inputIds:
        return 'varints';
      case FIELD.text:
        this.#input = true;
        return 'bytes';
      case FIELD.mmHash:
        this.#media.push(SEPARATOR);
        return 'bytes';
      case FIELD.placeholder:
        this.#mediaItems += 1;
        return 'skip';
      case FIELD.kvTransferParams:
        this.#ignoreControl(place);
        return 'skip';
      default:
        return 'skip';
    }
  }

  /** The field's key becomes an unknown one: nothing else of the message changes. */
  #ignoreControl({ start, keyEnd }: FieldPlace): void {
    const field = 'kv_transfer_params';
    const { onIgnored } = this.#parts;
    if (onIgnored === undefined) return;
    checkRepeated(field, this.#replacements.length + 1);
    // A number may be written longer than it needs; the new key has the old one's length.
    const text = new Uint8Array(keyEnd - start).fill(0x80);
    text[0] = UNKNOWN_KEY | (text.length > 1 ? 0x80 : 0);
    if (text.length > 1) text[text.length - 1] = 0;
    this.#replacements.push({ start, end: keyEnd, text, field });
    onIgnored(field);
  }

  #tokenId(value: number): void {
    for (let index = 0; index < BYTES_PER_TOKEN; index++) {
      this.#idBytes[index] = (value / 2 ** (8 * index)) & 0xff;
    }
    this.#prompt.push(this.#idBytes);
  }

  /** Equal prompts with other media are other prompts. */
  #root(): string {
    if (this.#media.count === 0) return ROOT;
    const { words } = chainRuns([this.#media], ROOT, this.#parts.hash);
    return `${words.at(-2)} ${words.at(-1)}`;
  }

  #request(bodyBytes: number, unreadTokens: number, chain: typeof chainRuns): InferenceRequest {
    const { head, hash } = this.#parts;
    const named = readHeaderFields(head.headers, this.#parts);
    const tokens = Math.max(1, Math.ceil(this.#prompt.bytes / BYTES_PER_TOKEN));
    return {
      id: head.id,
      model: '',
      streaming: this.#streaming,
      outputTokensMax: this.#outputTokensMax,
      promptTokens: tokens + unreadTokens,
      prompt: chain([this.#prompt], this.#root(), hash),
      ...(this.#mediaItems > 0 && { mediaItems: this.#mediaItems }),
      ...named,
      bodyBytes,
    };
  }
}

/** The root of a JSON body without model and salt. */
const ROOT: string = JSON.stringify(['', '']);
