import { readingOfPlan } from '../catalogue/reading-of-plan.ts';
import { HASHED_BLOCK_TOKENS, type InferenceRequest, NO_BLOCKS } from '../framework/request.ts';
import type { HashSecret } from '../framework/values/keyed-hash.ts';
import { createOpenBody } from '../openai/parsers/open-body.ts';
import { chainBlockIds } from '../openai/prompts/chain-block-ids.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import { checkSizes } from './check-numbers.ts';

/** A request as a client sends it to a model server. */
export interface BodyRequest {
  readonly body: Uint8Array | string;
  /** Says how to read the body; `/v1/chat/completions` when left out. */
  readonly path?: string;
  /** Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Higher ones first, for requests that wait; 0 when left out. */
  readonly priority?: number;
}

/** A request as a trace describes it: sizes instead of text. */
export interface CountedRequest {
  readonly model: string;
  readonly promptTokens: number;
  /** One id for each full block of the prompt: equal ids at equal places are equal text. */
  readonly blockIds?: readonly (number | bigint | string)[];
  /** Tokens in a block, 64 when left out; the same in every request to one picker. */
  readonly blockTokens?: number;
  readonly outputTokensMax?: number;
  readonly streaming?: boolean;
  /** See `BodyRequest`. */
  readonly priority?: number;
  /** The flow of the request, for fair shares. Headers of a body name it, and the next field. */
  readonly fairnessId?: string;
  /** The first token should come within this time. */
  readonly ttftSloMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** 64 MiB: many times a prompt of a million tokens. */
const BODY_BYTES_MAX = 64 * 1024 * 1024;

/** Reads requests by the parsers of this plan. */
export function requestReader(
  plan: PickerPlan,
  hashSeed: HashSecret,
): (request: BodyRequest | CountedRequest) => InferenceRequest {
  const openBody = openBodyOf(plan, hashSeed);
  let requests = 0;
  return (request) => {
    const id = `r${requests++}`;
    return 'body' in request ? readBody(request, id, openBody) : counted(request, id);
  };
}

function openBodyOf(plan: PickerPlan, hashSeed: HashSecret): ReturnType<typeof createOpenBody> {
  const { parsers = [] } = plan;
  const prompts = readingOfPlan(plan);
  return createOpenBody({
    bodyBytesMax: BODY_BYTES_MAX,
    hashSeed,
    parsers: () => parsers,
    prompts: () => prompts,
  });
}

function readBody(
  { body, path = '/v1/chat/completions', headers = {}, priority = 0 }: BodyRequest,
  id: string,
  openBody: ReturnType<typeof createOpenBody>,
): InferenceRequest {
  const reader = openBody({ id, path, headers: new Map(Object.entries(headers)) });
  reader.push(typeof body === 'string' ? new TextEncoder().encode(body) : body);
  return { ...reader.end(), priority };
}

function counted(request: CountedRequest, id: string): InferenceRequest {
  checkSizes(request);
  const { model, promptTokens, blockIds, blockTokens = HASHED_BLOCK_TOKENS } = request;
  return {
    id,
    model,
    streaming: request.streaming ?? true,
    outputTokensMax: request.outputTokensMax,
    promptTokens,
    prompt:
      blockIds === undefined
        ? NO_BLOCKS
        : chainBlockIds(blockIds, { seedText: model, blockTokens }),
    priority: request.priority ?? 0,
    fairnessId: request.fairnessId ?? 'default-flow',
    objective: undefined,
    ttftSloMs: request.ttftSloMs,
    tpotSloMs: undefined,
    headers: new Map(Object.entries(request.headers ?? {})),
    bodyBytes: 4 * promptTokens,
  };
}
