import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import type { Millis } from '../../src/framework/runtime.ts';
import { type FaultKind, faultSchema } from '../faults/fault.ts';
import { ApiError } from './api-error.ts';
import { embeddings } from './embeddings.ts';
import { generate, sendJson } from './generate.ts';
import type { GenerationRequest } from './generation-request.ts';
import type { LongTexts } from './long-texts.ts';
import { PULL_PATH } from './pull-remote.ts';
import {
  type BytesOf,
  chatTokenIds,
  checked,
  readChat,
  readCompletion,
} from './read-generation.ts';
import type { Replica } from './replica.ts';
import { engineIdOf, type ReplicaDirectory } from './sequence-kv.ts';
import { stateOf } from './state.ts';
import { textOf, tokenIdsOf } from './tokenizer.ts';

/** vLLM's version whose behaviour is emulated. */
const VERSION = '0.11.0';

/** A request, its body read and parsed. */
export interface Call {
  readonly replica: Replica;
  readonly response: ServerResponse;
  readonly find: ReplicaDirectory;
  readonly requestId: string;
  /** When all of it was there, in model time. */
  readonly receivedAt: Millis;
  readonly forcedTokens: number | undefined;
  readonly query: URLSearchParams;
  /** Parsed JSON; throws ApiError when it is not. */
  readonly json: () => unknown;
  /** As `json`, with long prompts left out; for what generates. */
  readonly longTexts: () => LongTexts;
}

type Route = (call: Call) => void;

/** Served whatever is wrong with the server. */
const FAULTS_PATHS = { begin: 'POST /stub/faults', end: 'DELETE /stub/faults' } as const;
export const MENDING_PATHS: ReadonlySet<string> = new Set([
  ...Object.values(FAULTS_PATHS),
  'GET /stub/state',
]);

const tokenizeSchema = z.looseObject({
  prompt: z.string().optional(),
  messages: z.array(z.looseObject({ role: z.string(), content: z.string().nullish() })).optional(),
});
const detokenizeSchema = z.looseObject({ tokens: z.array(z.int()) });
const pullSchema = z.looseObject({
  key: z.string(),
  tokens: z.int().nonnegative(),
  patient: z.boolean(),
});
const loraSchema = z.looseObject({
  lora_name: z.string().min(1),
  lora_path: z.string().optional(),
});

const ok = ({ response }: Call): void => sendJson(response, 200, {});

/** Every path of the API, by method. */
export const ROUTES: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['POST /v1/chat/completions', (call) => generate(readLong(call, readChat), call)],
  ['POST /v1/completions', (call) => generate(readLong(call, readCompletion), call)],
  [
    'POST /v1/embeddings',
    (call) => sendJson(call.response, 200, embeddings(call.json(), call.replica, call.requestId)),
  ],
  ['GET /v1/models', ({ replica, response }) => sendJson(response, 200, modelList(replica))],
  ['POST /tokenize', tokenize],
  ['POST /detokenize', detokenize],
  ['POST /v1/load_lora_adapter', loadLora],
  ['POST /v1/unload_lora_adapter', unloadLora],
  ['GET /health', health],
  ['GET /ping', health],
  ['POST /ping', health],
  ['GET /version', ({ response }) => sendJson(response, 200, { version: VERSION })],
  ['GET /metrics', metrics],
  [`POST ${PULL_PATH}`, sendKv],
  // Mooncake's bootstrap server, by data-parallel rank.
  [
    'GET /query',
    ({ replica, response }) => sendJson(response, 200, { 0: { engine_id: engineIdOf(replica) } }),
  ],
  [FAULTS_PATHS.begin, beginFault],
  [FAULTS_PATHS.end, endFaults],
  ['GET /stub/state', ({ replica, response }) => sendJson(response, 200, stateOf(replica))],
  [
    'POST /sleep',
    (call) => {
      call.replica.engine.sleep();
      ok(call);
    },
  ],
  [
    'POST /wake_up',
    (call) => {
      call.replica.engine.wakeUp();
      ok(call);
    },
  ],
  [
    'GET /is_sleeping',
    ({ replica, response }) => sendJson(response, 200, { is_sleeping: replica.engine.asleep }),
  ],
  [
    'POST /reset_prefix_cache',
    (call) => {
      call.replica.engine.resetPrefixCache();
      ok(call);
    },
  ],
]);

function readLong(
  { longTexts }: Call,
  read: (raw: unknown, bytesOf: BytesOf) => GenerationRequest,
): GenerationRequest {
  const { value, bytesOf } = longTexts();
  return read(value, bytesOf);
}

function health({ replica, response }: Call): void {
  const ready = replica.clock.now() >= replica.readyAt;
  response.writeHead(ready ? 200 : 503).end();
}

function metrics({ replica, response }: Call): void {
  const page = replica.faults.metrics();
  if (page === undefined) throw new ApiError(404, 'Not Found');
  response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
  response.end(page);
}

/** Not vLLM's: how a test or a person breaks this server, and mends it. */
function beginFault({ replica, response, json }: Call): void {
  replica.faults.begin(checked(faultSchema, json()));
  sendJson(response, 200, { faults: replica.faults.active });
}

function endFaults({ replica, response, query }: Call): void {
  replica.faults.end((query.get('kind') ?? undefined) as FaultKind | undefined);
  sendJson(response, 200, { faults: replica.faults.active });
}

/** A decode leg of another process wants KV: answered when it has been sent. */
function sendKv({ replica, response, json }: Call): void {
  const { key, tokens, patient } = checked(pullSchema, json());
  const fail = (): void => sendJson(response, 404, new ApiError(404, `no KV of ${key}`).body);
  const ready = (): void => sendJson(response, 200, {});
  replica.exchange.fetch(key, { tokens, to: undefined, ready, fail }, { patient });
}

function modelList({ options, loras, clock, engine }: Replica): object {
  const created = Math.floor(clock.wallTime() / 1000);
  const entry = (id: string, root: string, parent: string | null): object => ({
    id,
    object: 'model',
    created,
    owned_by: 'vllm',
    root,
    parent,
    max_model_len: engine.contextTokensMax,
  });
  return {
    object: 'list',
    data: [
      entry(options.model, options.model, null),
      ...[...loras].map(([name, path]) => entry(name, path, options.model)),
    ],
  };
}

function tokenize({ replica, response, json }: Call): void {
  const { prompt, messages } = checked(tokenizeSchema, json());
  if ((prompt === undefined) === (messages === undefined)) {
    throw new ApiError(400, 'either prompt or messages must be given, and not both');
  }
  const ids =
    messages === undefined
      ? tokenIdsOf(Buffer.from(prompt ?? '', 'utf8'))
      : chatTokenIds({ messages });
  const tokens = [...ids];
  sendJson(response, 200, {
    count: tokens.length,
    max_model_len: replica.engine.contextTokensMax,
    tokens,
    token_strs: null,
  });
}

function detokenize({ response, json }: Call): void {
  sendJson(response, 200, { prompt: textOf(checked(detokenizeSchema, json()).tokens) });
}

function loadLora({ replica, response, json }: Call): void {
  const { lora_name: name, lora_path: path = name } = checked(loraSchema, json());
  if (replica.loras.has(name)) {
    throw new ApiError(400, `The lora adapter '${name}' has already been loaded.`);
  }
  replica.loras.set(name, path);
  response.end(`Success: LoRA adapter '${name}' added successfully.`);
}

function unloadLora({ replica, response, json }: Call): void {
  const { lora_name: name } = checked(loraSchema, json());
  if (!replica.loras.delete(name)) {
    throw new ApiError(404, `The lora adapter '${name}' cannot be found.`);
  }
  replica.engine.loras.forget(name);
  response.end(`Success: LoRA adapter '${name}' removed successfully.`);
}
