import { createHash } from 'node:crypto';
import { hostOf, portOf } from '../../../src/framework/values/server-address.ts';
import type { StubReplica } from '../replica/stub-replica.ts';
import { TOKEN_BYTES } from './tokenizer.ts';

export type Modality = 'image' | 'video' | 'audio';

/** One image, video or sound of a message. */
interface MediaPart {
  readonly modality: Modality;
  /** Its URL, or its content in base64. */
  readonly source: string;
}

/** A medium in a prompt. */
export interface PromptMedia {
  readonly modality: Modality;
  /** Equal for equal sources, as vLLM's `mm_hash`. */
  readonly hash: string;
  /** Its first placeholder token in the prompt, and their number. */
  readonly offset: number;
  readonly tokens: number;
}

/**
 * Without a size: 640 × 360 pixels, of which 1,024 are a token, as the reference picker assumes.
 */
const TOKENS_DEFAULT = 225;
const PIXELS_PER_TOKEN = 1024;
/** Engines make larger images smaller. */
const TOKENS_MAX = 16_384;
/** Enough for the head of a PNG or WAV file in base64. */
const HEAD_CHARACTERS = 64;
/** Tokens per second of sound, as models of the Qwen family have. */
const TOKENS_PER_SECOND = 25;

/** Fields of a part that hold media; Anthropic's is `source`. */
const FIELDS: readonly (readonly [field: string, modality: Modality])[] = [
  ['image_url', 'image'],
  ['source', 'image'],
  ['video_url', 'video'],
  ['input_audio', 'audio'],
  ['audio_url', 'audio'],
];

/** The medium of a part of a message, if it is one. */
export function mediaIn(part: object): MediaPart | undefined {
  for (const [field, modality] of FIELDS) {
    const value = (part as Readonly<Record<string, unknown>>)[field];
    const source = typeof value === 'string' ? value : contentOf(value);
    if (source !== undefined) return { modality, source };
  }
  return undefined;
}

/** Placeholder tokens of a medium: their ids depend on all of its content, so blocks do, too. */
export function placeholdersOf({ modality, source }: MediaPart): {
  readonly hash: string;
  readonly bytes: Buffer;
} {
  const digest = createHash('sha256').update(source).digest();
  const tokens = Math.min(Math.max(1, tokensOf(modality, source)), TOKENS_MAX);
  const bytes = Buffer.alloc(TOKEN_BYTES * tokens);
  for (let token = 0; token < tokens; token++) {
    const word = digest.readInt32LE(4 * (token % 8)) ^ Math.imul(token + 1, 0x9e3779b9);
    bytes.writeInt32LE(word, TOKEN_BYTES * token);
  }
  return { hash: digest.toString('hex'), bytes };
}

function contentOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { url, data } = value as { readonly url?: unknown; readonly data?: unknown };
  if (typeof url === 'string') return url;
  return typeof data === 'string' ? data : undefined;
}

function tokensOf(modality: Modality, source: string): number {
  const from = source.startsWith('data:') ? source.indexOf(',') + 1 : 0;
  const head = Buffer.from(source.slice(from, from + HEAD_CHARACTERS), 'base64');
  if (modality === 'image' && head.toString('latin1', 1, 4) === 'PNG' && head.length >= 24) {
    return Math.round((head.readUInt32BE(16) * head.readUInt32BE(20)) / PIXELS_PER_TOKEN);
  }
  const isWave = head.toString('latin1', 0, 4) === 'RIFF' && head.length >= 32;
  if (modality === 'audio' && isWave && head.readUInt32LE(28) > 0) {
    const bytes = ((source.length - from) * 3) / 4;
    return Math.round((TOKENS_PER_SECOND * bytes) / head.readUInt32LE(28));
  }
  return TOKENS_DEFAULT;
}

/** An embedding has 4,096 numbers of two bytes. */
const BYTES_PER_TOKEN = 8192;

/**
 * The field of an answer that says where the results of an encoder are, by the hash of each medium,
 * as vLLM's connector for encoder caches gives it. Empty for other servers and without media.
 */
export function encodingsOf(
  { media = [] }: { readonly media?: readonly PromptMedia[] | undefined },
  { options, address, name }: Pick<StubReplica, 'options' | 'address' | 'name'>,
): { readonly ec_transfer_params?: object } {
  if (!options.servesEncodings || media.length === 0) return {};
  const place = { peer_host: hostOf(address), peer_port: Number(portOf(address)) };
  const metadata = Buffer.from(name).toString('base64');
  const params = media.map(({ hash, tokens }) => [
    hash,
    { ...place, size_bytes: tokens * BYTES_PER_TOKEN, nixl_agent_metadata_b64: metadata },
  ]);
  return { ec_transfer_params: Object.fromEntries(params) };
}
