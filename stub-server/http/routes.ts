import { z } from 'zod';
import type { ModelEngine } from '../engine/model-engine.ts';
import { faultKind, faultSchema } from '../faults/fault.ts';
import { httpRecipient } from './answers/reply.ts';
import { adminConfig, changeConfig } from './apis/admin-config.ts';
import { derenderChat, derenderCompletion } from './apis/derender.ts';
import { embeddings } from './apis/embeddings.ts';
import { generate } from './apis/generate.ts';
import { generateImages, speak, transcribe } from './apis/media-apis.ts';
import { rerank, score } from './apis/ranking.ts';
import { renderChat, renderCompletion, renderMessages } from './apis/render.ts';
import { readSglang, sglangRecipient } from './apis/sglang-generate.ts';
import { ApiError, parseBody, sendJson } from './replica/api-error.ts';
import { ranksAtAddress, type StubReplica, stateOf } from './replica/stub-replica.ts';
import { type Call, forcedTokens, type Route } from './requests/call.ts';
import type { BytesOf } from './requests/chat-prompt.ts';
import type { GenerationRequest } from './requests/read-generation.ts';
import { chatTokenIds, readChat, readCompletion } from './requests/read-generation.ts';
import { countMessageTokens, readMessages } from './requests/read-messages.ts';
import { readResponses } from './requests/read-responses.ts';
import { readTokens } from './requests/read-tokens.ts';
import { engineIdOf, PULL_PATH } from './requests/sequence-kv.ts';
import { checkStrictly } from './requests/strict-request.ts';
import { shownIds, textOf, tokenIdsOf } from './requests/tokenizer.ts';

/** The version of vLLM that is emulated. */
const VERSION = '0.11.0';

/** Paths that are served whatever faults are active. */
export const ALWAYS_SERVED: ReadonlySet<string> = new Set([
  'POST /stub/faults',
  'DELETE /stub/faults',
  'GET /stub/state',
]);

const tokenizeSchema = z.looseObject({
  prompt: z.string().optional(),
  messages: z.unknown().optional(),
});
const tokensSchema = z.looseObject({ tokens: z.array(z.int()) });
const pullSchema = z.looseObject({
  key: z.string(),
  tokens: z.int().nonnegative(),
  patient: z.boolean(),
});
const loraSchema = z.looseObject({
  lora_name: z.string().min(1),
  lora_path: z.string().optional(),
});

export const ROUTES: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['POST /v1/chat/completions', (call) => generateFrom(call, readChat, 'chat')],
  ['POST /v1/completions', completeText],
  ['POST /v1/responses', (call) => generateFrom(call, readResponses)],
  ['POST /v1/messages', (call) => generateFrom(call, readMessages)],
  ['POST /v1/messages/count_tokens', ({ json }) => ({ input_tokens: countMessageTokens(json()) })],
  ['POST /inference/v1/generate', generateTokens],
  ['POST /v1/chat/completions/render', renderChat],
  ['POST /v1/completions/render', renderCompletion],
  ['POST /v1/messages/render', renderMessages],
  ['POST /v1/chat/completions/derender', (call) => derenderChat(call.json(), call)],
  ['POST /v1/completions/derender', (call) => derenderCompletion(call.json(), call)],
  ['POST /generate', generateSglang],
  ['POST /v1/images/generations', generateImages],
  ['POST /v1/audio/speech', speak],
  ['POST /v1/audio/transcriptions', transcribe],
  ['POST /v1/embeddings', (call) => embeddings(call.json(), call.replica, call.requestId)],
  ['GET /v1/models', modelList],
  ['POST /rerank', rerank],
  ['POST /v1/rerank', rerank],
  ['POST /v2/rerank', rerank],
  ['POST /score', score],
  ['POST /v1/score', score],
  ['POST /tokenize', tokenize],
  ['POST /detokenize', ({ json }) => ({ prompt: textOf(parseBody(tokensSchema, json()).tokens) })],
  ['POST /v1/load_lora_adapter', loadLora],
  ['POST /v1/unload_lora_adapter', unloadLora],
  ['GET /health', health],
  ['GET /health/ready', ready],
  // The path of the probe in llm-d-inference-sim's chart.
  ['GET /ready', ready],
  ['GET /ping', health],
  ['POST /ping', health],
  ['GET /version', () => ({ version: VERSION })],
  ['GET /metrics', metrics],
  ['GET /prometheus/metrics', trtllmMetrics],
  [`POST ${PULL_PATH}`, sendKv],
  // Mooncake's bootstrap server, by data-parallel rank.
  ['GET /query', ({ replica }) => engineIds(replica)],
  // Paths of llm-d-inference-sim.
  ['GET /admin/config', ({ replica }) => adminConfig(replica)],
  ['POST /admin/config', ({ replica, json }) => changeConfig(json(), replica)],
  ['POST /fake_metrics', changeFakes],
  // Not in vLLM: the state of this server, and its faults.
  ['POST /stub/faults', beginFault],
  ['DELETE /stub/faults', endFaults],
  ['GET /stub/state', ({ replica }) => stateOf(replica)],
  ['POST /sleep', changing((engine) => engine.sleep())],
  ['POST /wake_up', changing((engine) => engine.wakeUp())],
  ['GET /is_sleeping', ({ replica }) => ({ is_sleeping: replica.engine.asleep })],
  ['POST /reset_prefix_cache', resetPrefixCache],
]);

/** The simulator's path before `/admin/config`. */
function changeFakes({ replica, json, response }: Call): undefined {
  changeConfig({ 'fake-metrics': json() }, replica);
  response.writeHead(204).end();
}

/** A route that changes the engines. As in vLLM, the answer has no body. */
function changing(change: (engine: ModelEngine) => unknown): Route {
  return ({ replica, response }) => {
    for (const { engine } of ranksAtAddress(replica)) change(engine);
    response.end();
  };
}

function resetPrefixCache({ replica, query, response }: Call): undefined {
  const host = query.get('reset_external') === 'true';
  for (const { engine } of ranksAtAddress(replica)) engine.resetPrefixCache({ host });
  response.end();
}

function engineIds(replica: StubReplica): object {
  const ids = ranksAtAddress(replica).map((rank) => ({ engine_id: engineIdOf(rank) }));
  return Object.fromEntries(ids.entries());
}

function generateFrom(
  call: Call,
  read: (raw: unknown, bytesOf: BytesOf) => GenerationRequest,
  checked?: 'chat' | 'completions',
): undefined {
  const { value, bytesOf } = call.longTexts();
  if (checked !== undefined) checkStrictly(value, call, checked);
  generate(read(value, bytesOf), call, httpRecipient(call));
}

function completeText(call: Call): undefined {
  const tokens = forcedTokens(call.headers);
  const read = (raw: unknown, bytesOf: BytesOf): GenerationRequest =>
    readCompletion(raw, bytesOf, tokens);
  return generateFrom(call, read, 'completions');
}

function generateTokens(call: Call): undefined {
  generate(readTokens(call.json(), call.replica.options.model), call, httpRecipient(call));
}

function generateSglang(call: Call): undefined {
  generate(readSglang(call.json(), call.replica.options.model), call, sglangRecipient(call));
}

function health({ replica, response }: Call): undefined {
  const started = replica.clock.now() >= replica.readyAt;
  response.writeHead(started ? 200 : 503).end();
}

/** Ready for requests; with llm-d-inference-sim's start-up time, later than healthy. */
function ready({ replica, response }: Call): undefined {
  const { clock, readyAt, options } = replica;
  response.writeHead(clock.now() >= readyAt + options.readyAfterMs ? 200 : 503).end();
}

function metrics({ replica, response }: Call): undefined {
  const page = replica.faults.metrics();
  if (page === undefined) throw new ApiError(404, 'Not Found');
  response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
  response.end(page);
}

/** Where trtllm-serve has its page for Prometheus, as configurations of pickers say. */
function trtllmMetrics(call: Call): undefined {
  if (call.replica.options.engine !== 'trtllm') throw new ApiError(404, 'Not Found');
  return metrics(call);
}

function beginFault({ replica, json }: Call): object {
  const fault = parseBody(faultSchema, json());
  for (const { faults } of ranksAtAddress(replica)) faults.begin(fault);
  return { faults: replica.faults.active };
}

function endFaults({ replica, query }: Call): object {
  const name = query.get('kind');
  const kind = name === null ? undefined : faultKind(name);
  for (const { faults } of ranksAtAddress(replica)) faults.end(kind);
  return { faults: replica.faults.active };
}

/** Sends KV to a decode leg of another process. The answer follows when all of it is sent. */
function sendKv({ replica, response, json }: Call): undefined {
  const { key, tokens, patient } = parseBody(pullSchema, json());
  const fail = (): void => sendJson(response, 404, new ApiError(404, `no KV of ${key}`).body);
  const ready = (): void => sendJson(response, 200, {});
  replica.exchange.fetch(key, { tokens, to: undefined, ready, fail }, { patient });
}

function modelList({ replica: { options, loras, clock, contextTokensMax } }: Call): object {
  const created = Math.floor(clock.wallTime() / 1000);
  const entry = (id: string, root: string, parent: string | null): object => ({
    id,
    object: 'model',
    created,
    owned_by: options.engine === 'sglang' ? 'sglang' : 'vllm',
    root,
    parent,
    max_model_len: contextTokensMax,
  });
  const { model, aliases, modelRoot = model } = options;
  return {
    object: 'list',
    data: [
      ...[model, ...aliases].map((name) => entry(name, modelRoot, null)),
      ...[...loras].map(([name, path]) => entry(name, path, model)),
    ],
  };
}

function tokenize({ replica, json }: Call): object {
  const body = json();
  const { prompt, messages } = parseBody(tokenizeSchema, body);
  if ((prompt === undefined) === (messages === undefined)) {
    throw new ApiError(400, 'either prompt or messages must be given, and not both');
  }
  const ids =
    messages === undefined ? tokenIdsOf(Buffer.from(prompt ?? '', 'utf8')) : chatTokenIds(body);
  return {
    count: ids.length,
    max_model_len: replica.contextTokensMax,
    tokens: shownIds(ids),
    token_strs: null,
  };
}

function loadLora({ replica, response, json }: Call): undefined {
  const { lora_name: name, lora_path: path = name } = parseBody(loraSchema, json());
  if (replica.loras.has(name)) {
    throw new ApiError(400, `The lora adapter '${name}' has already been loaded.`);
  }
  for (const { loras, engine } of ranksAtAddress(replica)) {
    loras.set(name, path);
    engine.loras.load(name);
  }
  response.end(`Success: LoRA adapter '${name}' added successfully.`);
}

function unloadLora({ replica, response, json }: Call): undefined {
  const { lora_name: name } = parseBody(loraSchema, json());
  if (!replica.loras.has(name)) {
    throw new ApiError(404, `The lora adapter '${name}' cannot be found.`);
  }
  for (const { loras, engine } of ranksAtAddress(replica)) {
    loras.delete(name);
    engine.loras.forget(name);
  }
  response.end(`Success: LoRA adapter '${name}' removed successfully.`);
}
