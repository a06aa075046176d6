import { Readable } from 'node:stream';
import {
  elementsOf,
  memberOf,
  valueOf,
  withElements,
  withMembers,
} from '../../openai/json/json-members.ts';
import type { JsonObject } from '../../openai/json/json-object.ts';
import type { EngineAnswer } from '../answers/engine-answer.ts';
import { readWhole } from '../answers/read-whole.ts';
import { isJsonObject } from '../body/client-body.ts';

/** Sends a body to the engine. */
type Ask = (body: JsonObject) => Promise<EngineAnswer>;

/**
 * Requests with one of these are decoded in one piece: an answer that is put together from several
 * would lose what they ask for.
 */
const WHOLE: readonly string[] = [
  'tools',
  'functions',
  'logprobs',
  'response_format',
  'structured_outputs',
  'guided_json',
  'guided_regex',
  'guided_choice',
  'guided_grammar',
  'continue_final_message',
];
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
/** Special tokens have no text. An engine that gives nothing else does not come to an end. */
const EMPTY_PIECES_MAX = 64;

interface Piece {
  readonly json: Buffer;
  readonly text: string;
  readonly reason: string | undefined;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/**
 * Decodes a chat in pieces of at most so many tokens, each a request that continues the answer so
 * far. Undefined for a request that fits one piece, or that cannot be put together. An error of the
 * engine at the first piece is its answer; a later one breaks the answer off.
 */
export async function chunkedDecode(
  body: JsonObject,
  chunkTokens: number,
  ask: Ask,
): Promise<EngineAnswer | undefined> {
  const budget = budgetOf(body);
  if (budget <= chunkTokens || !canBeSplit(body, chunkTokens)) return undefined;
  const first = await ask(pieceBody(body, Math.min(chunkTokens, budget), undefined));
  if (first.statusCode !== 200) return first;
  const pieces = piecesOf({ body, budget, chunkTokens, first }, ask);
  const streamed = body.is('stream', 'true');
  const type = streamed ? 'text/event-stream; charset=utf-8' : 'application/json';
  const bytes = streamed ? events(pieces, usageWanted(body)) : whole(pieces);
  return {
    statusCode: 200,
    headers: { ...first.headers, 'content-type': type },
    body: Readable.from(bytes, { objectMode: false }),
    needsRequest: true,
  };
}

interface Run {
  readonly body: JsonObject;
  readonly budget: number;
  readonly chunkTokens: number;
  readonly first: EngineAnswer;
}

async function* piecesOf({ body, budget, chunkTokens, first }: Run, ask: Ask) {
  let answer = first;
  let text = '';
  let used = 0;
  let empty = 0;
  for (;;) {
    if (answer.statusCode !== 200) {
      answer.body.on('error', () => undefined).destroy();
      throw new Error(`answered ${answer.statusCode} within a chunked answer`);
    }
    const piece = pieceIn(await readWhole(answer.body, ANSWER_BYTES_MAX));
    text += piece.text;
    if (text.length > ANSWER_BYTES_MAX) {
      throw new Error(`answered more than ${ANSWER_BYTES_MAX} characters in all`);
    }
    empty = piece.text === '' ? empty + 1 : 0;
    if (empty > EMPTY_PIECES_MAX) {
      throw new Error(`answered ${empty} pieces without text in succession`);
    }
    used += piece.completionTokens;
    const goesOn = piece.reason === 'length' && used < budget && piece.completionTokens > 0;
    yield { ...piece, last: !goesOn };
    if (!goesOn) return;
    answer = await ask(pieceBody(body, Math.min(chunkTokens, budget - used), text));
  }
}

type Pieces = AsyncGenerator<Piece & { readonly last: boolean }>;

/** The request for one piece. `text` is the answer so far; undefined for the first piece. */
function pieceBody(body: JsonObject, tokens: number, text: string | undefined): JsonObject {
  const bounded = body.with({
    max_tokens: String(tokens),
    max_completion_tokens: String(tokens),
    stream: 'false',
    stream_options: undefined,
  });
  if (text === undefined) return bounded;
  const said = JSON.stringify({ role: 'assistant', content: text });
  return bounded.with({
    messages: withElements(body.member('messages') ?? NONE, said),
    // The engine has the KV of the prompt by now.
    kv_transfer_params: undefined,
    ec_transfer_params: undefined,
    continue_final_message: 'true',
    add_generation_prompt: 'false',
  });
}

async function* events(pieces: Pieces, withUsage: boolean) {
  let head: Buffer | undefined;
  let prompt: number | undefined;
  let completion = 0;
  for await (const { json, text, reason, last, ...tokens } of pieces) {
    prompt ??= tokens.promptTokens;
    completion += tokens.completionTokens;
    const role = head === undefined ? { role: 'assistant' } : {};
    const delta = { ...role, content: text };
    const choice = { index: 0, delta, finish_reason: last ? (reason ?? null) : null };
    // All events of an answer have one id.
    head ??= withMembers(json, { object: '"chat.completion.chunk"', usage: undefined });
    yield event(withMembers(head, { choices: JSON.stringify([choice]) }));
  }
  if (head !== undefined && withUsage) {
    const usage = JSON.stringify(usageOf(prompt ?? 0, completion));
    yield event(withMembers(head, { choices: '[]', usage }));
  }
  yield Buffer.from('data: [DONE]\n\n');
}

async function* whole(pieces: Pieces) {
  let first: Piece | undefined;
  let text = '';
  let completion = 0;
  for await (const piece of pieces) {
    first ??= piece;
    text += piece.text;
    completion += piece.completionTokens;
    if (!piece.last) continue;
    const [choice = Buffer.from('{}')] = elementsOf(memberOf(piece.json, 'choices') ?? NONE, 1);
    const message = memberOf(choice, 'message') ?? Buffer.from('{}');
    const content = withMembers(message, { content: JSON.stringify(text) });
    const usage = withMembers(memberOf(first.json, 'usage') ?? Buffer.from('{}'), {
      completion_tokens: String(completion),
      total_tokens: String(first.promptTokens + completion),
    });
    const choices = Buffer.concat([
      Buffer.from('['),
      withMembers(choice, { message: content }),
      Buffer.from(']'),
    ]);
    yield withMembers(first.json, { choices, usage });
  }
}

const NONE = Buffer.from('[]');

function event(json: Buffer): Buffer {
  return Buffer.concat([Buffer.from('data: '), json, Buffer.from('\n\n')]);
}

function usageOf(prompt: number, completion: number): object {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
  };
}

function pieceIn(json: Buffer): Piece {
  if (!isJsonObject(json)) throw new Error('answered no JSON object');
  const [choice] = elementsOf(memberOf(json, 'choices') ?? NONE, 1);
  if (choice === undefined || !isJsonObject(choice)) throw new Error('answered no choice');
  const content = valueOf(memberOf(choice, 'message') ?? Buffer.from('{}'), 'content');
  const reason = valueOf(choice, 'finish_reason');
  const usage = memberOf(json, 'usage') ?? Buffer.from('{}');
  const tokens = (name: string): number => Number(valueOf(usage, name) ?? 0);
  return {
    json,
    text: typeof content === 'string' ? content : '',
    reason: typeof reason === 'string' ? reason : undefined,
    promptTokens: tokens('prompt_tokens'),
    completionTokens: tokens('completion_tokens'),
  };
}

/** The most tokens that the answer may have, infinite without a bound. */
function budgetOf(body: JsonObject): number {
  for (const name of ['max_completion_tokens', 'max_tokens']) {
    const value = body.number(name);
    if (value !== undefined && value > 0) return value;
  }
  return Number.POSITIVE_INFINITY;
}

function canBeSplit(body: JsonObject, chunkTokens: number): boolean {
  if ((body.number('min_tokens') ?? 0) > chunkTokens) return false;
  if ((body.number('n') ?? 1) > 1) return false;
  return WHOLE.every(
    (name) => body.member(name) === undefined || body.is(name, 'null') || body.is(name, 'false'),
  );
}

function usageWanted(body: JsonObject): boolean {
  return body.object('stream_options')?.is('include_usage', 'true') === true;
}
