import { createHash } from 'node:crypto';
import type { Clock, Millis } from '../../framework/runtime.ts';
import { isPlainObject } from '../../framework/values/plain-object.ts';
import { memberOf, withMembers } from '../../openai/json/json-members.ts';
import type { JsonObject } from '../../openai/json/json-object.ts';
import { ChatReply } from '../answers/chat-reply.ts';
import { answeredObject, type EngineAnswer, editedAnswer } from '../answers/engine-answer.ts';
import { type DigestedMessage, digestedMessage } from '../answers/message-digest.ts';
import { objectIn } from '../body/client-body.ts';
import type { GenerationApi } from '../body/generation-api.ts';
import { TurnsReader } from '../body/read-in-turns.ts';
import type { EarlierTurnsOptions } from '../options/sidecar-options.ts';

/** Long prompts have thousands of block ids; a turn with more is not kept. */
const PARAMS_BYTES_MAX = 64 * 1024;
/** With members that are not kept, what an engine says is longer. */
const ANSWERED_BYTES_MAX = 4 * PARAMS_BYTES_MAX;
/** Each message takes up to 50 µs; a conversation with more is not followed. */
const MESSAGES_MAX = 4096;
/** What an engine says of its blocks, and nothing else, goes to the prefilling server. */
const PARAMS: readonly string[] = [
  'remote_engine_id',
  'remote_request_id',
  'remote_host',
  'remote_port',
  'remote_block_ids',
  'remote_num_tokens',
  'remote_blocks_expiry_time',
  'tp_size',
  'dcp_size',
  'pp_size',
  'transfer_mode',
];
/** Beside the messages, these decide which tokens a prompt has and what their KV is. */
const SCOPE: readonly string[] = [
  'model',
  'cache_salt',
  'tools',
  'tool_choice',
  'chat_template',
  'chat_template_kwargs',
  'documents',
  'reasoning_effort',
  'add_special_tokens',
  'add_generation_prompt',
  'continue_final_message',
  'mm_processor_kwargs',
  'media_io_kwargs',
];

interface Kept {
  readonly params: Buffer;
  readonly until: Millis;
}

/**
 * Where the engine holds the KV of turns that it has answered. The next turn of a conversation can
 * have its prefilling server read them instead of computing them: vLLM's bidirectional transfer.
 * That server copies blocks by their place, so a turn counts only where its messages and answer are
 * the beginning of the next one.
 */
export class EarlierTurns {
  readonly #clock: Clock;
  readonly #options: EarlierTurnsOptions;
  /** By the digest of all that was said; the oldest first. */
  readonly #kept = new Map<string, Kept>();

  constructor(clock: Clock, options: EarlierTurnsOptions) {
    this.#clock = clock;
    this.#options = options;
  }

  /**
   * The turn that a request is; undefined for one that cannot take part. Others are served while it
   * is read. Rejects with the signal's reason.
   */
  async turnOf(
    body: JsonObject,
    api: GenerationApi,
    signal?: AbortSignal,
  ): Promise<Turn | undefined> {
    if (api.name !== 'chat_completions') return undefined;
    if (!isUnset(body, 'truncate_prompt_tokens')) return undefined;
    if (!isUnset(body, 'n') && !body.is('n', '1')) return undefined;
    const found = body.member('messages');
    if (found === undefined) return undefined;
    const inTurns = new TurnsReader(signal);
    const texts = await inTurns.elementsOf(found, MESSAGES_MAX + 1);
    if (texts.length === 0 || texts.length > MESSAGES_MAX) return undefined;
    const messages: DigestedMessage[] = [];
    for (const text of texts) messages.push(await digestedMessage(text, inTurns));
    return new Turn(this, await digestsOf(body, messages, inTurns), messages);
  }

  /** What the engine said of the blocks after this conversation, once: reading frees them. */
  take(digest: string): Buffer | undefined {
    const kept = this.#kept.get(digest);
    this.#kept.delete(digest);
    return kept !== undefined && kept.until > this.#clock.now() ? kept.params : undefined;
  }

  keep(digest: string, params: Buffer): void {
    const { turnsMax, keepMs } = this.#options;
    this.#kept.delete(digest);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size < turnsMax) break;
      this.#kept.delete(oldest);
    }
    this.#kept.set(digest, { params, until: this.#clock.now() + keepMs });
  }
}

/** One request of a conversation. */
export class Turn {
  readonly #turns: EarlierTurns;
  /** One for each message: the digest of the conversation up to and including it. */
  readonly #digests: readonly string[];
  readonly #messages: readonly DigestedMessage[];

  constructor(
    turns: EarlierTurns,
    digests: readonly string[],
    messages: readonly DigestedMessage[],
  ) {
    this.#turns = turns;
    this.#digests = digests;
    this.#messages = messages;
  }

  /** `kv_transfer_params` of the longest earlier turn that this one continues, if one is kept. */
  take(): Buffer | undefined {
    // A conversation that ends in an answer has no new message.
    for (let index = this.#messages.length - 2; index >= 0; index--) {
      const digest = this.#digests[index] ?? '';
      if (this.#messages[index]?.role !== 'assistant') continue;
      const params = this.#turns.take(digest);
      if (params !== undefined) return params;
    }
    return undefined;
  }

  /**
   * The engine's answer, byte for byte. What the answer says of the engine's blocks is remembered.
   */
  watched(answer: EngineAnswer): EngineAnswer {
    if (answer.statusCode !== 200) return answer;
    const reply = new ChatReply();
    return editedAnswer(answer, async (json, inTurns) => {
      const object = await answeredObject(json, inTurns);
      if (object !== undefined) await reply.read(object, inTurns);
      const params = object?.member('kv_transfer_params');
      if (params?.[0] === 0x7b) this.#keep(params, reply);
      return [json];
    });
  }

  #keep(said: Buffer, reply: ChatReply): void {
    const params = usable(said);
    const message = reply.digest();
    if (params === undefined || message === undefined) return;
    this.#turns.keep(continued(this.#digests.at(-1) ?? '', message), params);
  }
}

async function digestsOf(
  body: JsonObject,
  messages: readonly DigestedMessage[],
  inTurns: TurnsReader,
): Promise<readonly string[]> {
  const scope = createHash('sha256');
  for (const name of SCOPE) {
    const part = body.member(name);
    // The length goes before the part, so that two parts cannot be mistaken for others.
    scope.update(`${part?.length ?? -1}:`);
    if (part !== undefined) await inTurns.hash(part, scope);
  }
  let said = scope.digest('base64');
  const digests: string[] = [];
  for (const { digest } of messages) {
    await inTurns.step();
    said = continued(said, digest);
    digests.push(said);
  }
  return digests;
}

function continued(digest: string, message: string): string {
  return createHash('sha256').update(`${digest} ${message}`).digest('base64');
}

/** The part of an engine's answer about its blocks that another server needs; undefined without. */
function usable(said: Buffer): Buffer | undefined {
  if (said.length > ANSWERED_BYTES_MAX) return undefined;
  const params = objectIn(said);
  if (!isPlainObject(params) || params['do_remote_decode'] !== true) return undefined;
  const { remote_engine_id: engine, remote_request_id: request, remote_host: host } = params;
  const named = [engine, request, host].every((each) => typeof each === 'string' && each !== '');
  const { remote_port: port, remote_block_ids: blocks } = params;
  if (!named || typeof port !== 'number') return undefined;
  if (!Array.isArray(blocks) || blocks.length === 0) return undefined;
  const kept = PARAMS.map((name) => [name, memberOf(said, name)] as const);
  const text = withMembers(Buffer.from('{}'), Object.fromEntries(kept));
  return text.length <= PARAMS_BYTES_MAX ? text : undefined;
}

function isUnset(body: JsonObject, name: string): boolean {
  return body.member(name) === undefined || body.is(name, 'null');
}
