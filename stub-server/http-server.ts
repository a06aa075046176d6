import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Clock, Random } from '../src/framework/runtime.ts';
import { BadRequest, type CompletionRequest, readCompletionRequest } from './completion-request.ts';
import type { Engine } from './engine.ts';
import type { EngineStats } from './engine-stats.ts';
import { metricsPage } from './metrics-page.ts';
import type { SequenceUsage } from './sequence.ts';
import type { StubOptions } from './stub-options.ts';
import { tokenize, tokenText } from './tokenizer.ts';

/** A chat of a million tokens fits. */
const BODY_BYTES_MAX = 64 * 1024 * 1024;
/** Mean and spread of answers to requests that name no length, tokens: those of the Azure conversation trace. */
const OUTPUT_MEAN = 200;
const VERSION = '0.11.0';

export interface StubServerOptions {
  readonly engine: Engine;
  readonly stats: EngineStats;
  /** Model time. */
  readonly clock: Clock;
  readonly random: Random;
  readonly options: StubOptions;
  /** For the response headers that tell a test who served. */
  readonly name: string;
}

/** One model server over HTTP, as vLLM answers. The caller makes it listen. */
export function createStubServer(parts: StubServerOptions): Server {
  const server = createServer(
    { keepAliveTimeout: 120_000, requestTimeout: 0 },
    (request, response) => {
      handle(parts, request, response).catch((error: unknown) => {
        const bad = error instanceof BadRequest;
        fail(response, bad ? 400 : 500, error instanceof Error ? error.message : String(error));
      });
    },
  );
  return server;
}

async function handle(
  parts: StubServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { engine, options, clock } = parts;
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
  const { port } = request.socket.address() as { readonly port: number };
  response.setHeader('x-inference-pod', parts.name);
  response.setHeader('x-inference-port', String(port));
  if (request.method === 'POST') {
    const chat = path === '/v1/chat/completions';
    if (!chat && path !== '/v1/completions') return fail(response, 404, 'Not Found');
    const read = readCompletionRequest(await bodyOf(request), chat);
    complete(parts, read, response);
    return;
  }
  switch (path) {
    case '/health':
    case '/ping':
      response.end();
      return;
    case '/version':
      return json(response, { version: VERSION });
    case '/v1/models':
      return json(response, { object: 'list', data: modelList(options, clock.wallTime()) });
    case '/metrics':
      response.setHeader('content-type', 'text/plain; version=0.0.4; charset=utf-8');
      response.end(
        metricsPage({
          engine,
          stats: parts.stats,
          ...options,
          wallSeconds: () => clock.wallTime() / 1000,
        }),
      );
      return;
    default:
      fail(response, 404, 'Not Found');
  }
}

function complete(
  parts: StubServerOptions,
  read: CompletionRequest,
  response: ServerResponse,
): void {
  const { engine, options, random } = parts;
  const isLora = options.loras.includes(read.model);
  if (read.model !== options.model && !isLora) {
    return fail(response, 404, `The model \`${read.model}\` does not exist.`);
  }
  const { tokens, blockKeys: blockHashes } = tokenize(read.prompt, {
    blockTokens: options.blockTokens,
    root: `${isLora ? read.model : ''}\n${read.cacheSalt}`,
  });
  const outputTokens = outputLength(read, random);
  if (tokens + outputTokens > engine.contextTokensMax) {
    return fail(
      response,
      400,
      `This model's maximum context length is ${engine.contextTokensMax} tokens, and you asked for ${tokens + outputTokens}.`,
    );
  }
  const reply = read.stream ? streamedReply(read, response) : wholeReply(read, response);
  const submission = engine.submit({
    promptTokens: tokens,
    blockHashes,
    outputTokens,
    lora: isLora ? read.model : undefined,
    onToken: (count) => reply.token(count, count === outputTokens),
    onDone: (reason, usage) => {
      if (reason !== 'abort') reply.end(usage);
    },
  });
  response.on('close', () => submission.abort());
}

interface Reply {
  token(count: number, last: boolean): void;
  end(usage: SequenceUsage): void;
}

function wholeReply(read: CompletionRequest, response: ServerResponse): Reply {
  return {
    token: () => undefined,
    end(usage) {
      const text = tokenText(0, usage.completionTokens);
      const choice = read.chat
        ? {
            index: 0,
            message: { role: 'assistant', content: text },
            logprobs: null,
            finish_reason: 'length',
          }
        : { index: 0, text, logprobs: null, finish_reason: 'length' };
      json(response, { ...envelope(read), choices: [choice], usage: usageObject(usage) });
    },
  };
}

function streamedReply(read: CompletionRequest, response: ServerResponse): Reply {
  const base = envelope(read, read.chat ? 'chat.completion.chunk' : 'text_completion');
  const send = (chunk: object): void => void response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  // vLLM sends the head as soon as the request is taken, long before the first token.
  response.flushHeaders();
  return {
    token(count, last) {
      const finish_reason = last ? 'length' : null;
      const text = tokenText(count - 1, 1);
      if (read.chat && count === 1) {
        send({
          ...base,
          choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }],
        });
      }
      const choice = read.chat
        ? { index: 0, delta: { content: text }, finish_reason }
        : { index: 0, text, finish_reason };
      send({ ...base, choices: [choice] });
    },
    end(usage) {
      if (read.includeUsage) send({ ...base, choices: [], usage: usageObject(usage) });
      response.end('data: [DONE]\n\n');
    },
  };
}

function envelope({ chat, model }: CompletionRequest, object?: string): object {
  return {
    id: `${chat ? 'chatcmpl' : 'cmpl'}-${randomUUID()}`,
    object: object ?? (chat ? 'chat.completion' : 'text_completion'),
    created: Math.floor(Date.now() / 1000),
    model,
  };
}

function usageObject({ promptTokens, completionTokens, cachedTokens }: SequenceUsage): object {
  return {
    prompt_tokens: promptTokens,
    total_tokens: promptTokens + completionTokens,
    completion_tokens: completionTokens,
    // vLLM leaves the details out when nothing was cached.
    prompt_tokens_details: cachedTokens === 0 ? null : { cached_tokens: cachedTokens },
  };
}

function outputLength({ outputTokensMax, ignoreEos }: CompletionRequest, random: Random): number {
  if (outputTokensMax !== undefined && ignoreEos) return outputTokensMax;
  const drawn = Math.max(1, Math.round(-Math.log(1 - random.next()) * OUTPUT_MEAN));
  return Math.min(drawn, outputTokensMax ?? Number.POSITIVE_INFINITY);
}

function modelList({ model, loras }: StubOptions, wallMs: number): readonly object[] {
  const created = Math.floor(wallMs / 1000);
  const entry = (id: string, parent: string | null): object => ({
    id,
    object: 'model',
    created,
    owned_by: 'vllm',
    root: id,
    parent,
  });
  return [entry(model, null), ...loras.map((lora) => entry(lora, model))];
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) throw new BadRequest(`body larger than ${BODY_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const ERROR_TYPES: ReadonlyMap<number, string> = new Map([
  [400, 'BadRequestError'],
  [404, 'NotFoundError'],
  [500, 'InternalServerError'],
]);

function fail(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.statusCode = status;
  json(response, {
    error: {
      message,
      type: ERROR_TYPES.get(status) ?? 'InternalServerError',
      param: null,
      code: status,
    },
  });
}

function json(response: ServerResponse, body: object): void {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(body));
}
