import { z } from 'zod';

const content = z.union([
  z.string(),
  z.array(z.looseObject({ type: z.string().optional(), text: z.string().optional() })),
  z.null(),
]);
const shared = {
  model: z.string(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: z.int().positive().nullish(),
  ignore_eos: z.boolean().nullish(),
  cache_salt: z.string().nullish(),
};

const chatSchema = z.looseObject({
  ...shared,
  max_completion_tokens: z.int().positive().nullish(),
  messages: z.array(z.looseObject({ role: z.string(), content: content.optional() })).min(1),
  tools: z.array(z.unknown()).nullish(),
});

const completionSchema = z.looseObject({
  ...shared,
  prompt: z.union([z.string(), z.array(z.string()).min(1), z.array(z.int().nonnegative()).min(1)]),
});

/** A request as the engine needs it. */
export interface CompletionRequest {
  readonly chat: boolean;
  readonly model: string;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** The rendered prompt; token ids stand as four bytes each. */
  readonly prompt: Buffer;
  readonly outputTokensMax: number | undefined;
  readonly ignoreEos: boolean;
  readonly cacheSalt: string;
}

/** The sentence for a 400 when the body is not a request. */
export class BadRequest extends Error {}

/** Reads a body as vLLM would. Throws BadRequest. */
export function readCompletionRequest(body: Buffer, chat: boolean): CompletionRequest {
  let raw: unknown;
  try {
    raw = JSON.parse(body.toString('utf8'));
  } catch (error) {
    throw new BadRequest(error instanceof Error ? error.message : 'not JSON');
  }
  const parsed = (chat ? chatSchema : completionSchema).safeParse(raw);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new BadRequest(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid'}`);
  }
  const { data } = parsed;
  const cap = 'max_completion_tokens' in data ? data.max_completion_tokens : undefined;
  return {
    chat,
    model: data.model,
    stream: data.stream === true,
    includeUsage: data.stream_options?.include_usage === true,
    prompt:
      'messages' in data
        ? renderChat(data as z.infer<typeof chatSchema>)
        : renderPrompt(data as z.infer<typeof completionSchema>),
    outputTokensMax: (cap as number | null | undefined) ?? data.max_tokens ?? undefined,
    ignoreEos: data.ignore_eos === true,
    cacheSalt: data.cache_salt ?? '',
  };
}

/** A template in miniature: tools, then each message behind its role. */
function renderChat({ messages, tools }: z.infer<typeof chatSchema>): Buffer {
  const parts: string[] = tools === null || tools === undefined ? [] : [JSON.stringify(tools)];
  for (const { role, content: said } of messages) {
    const text =
      typeof said === 'string' ? said : (said ?? []).map((part) => part.text ?? '').join('\n');
    parts.push(`<|${role}|>\n${text}\n`);
  }
  return Buffer.from(parts.join(''), 'utf8');
}

function renderPrompt({ prompt }: z.infer<typeof completionSchema>): Buffer {
  if (typeof prompt === 'string') return Buffer.from(prompt, 'utf8');
  if (typeof prompt[0] === 'string') return Buffer.from(prompt.join('\n'), 'utf8');
  const ids = Buffer.alloc(4 * prompt.length);
  prompt.forEach((id, index) => void ids.writeUInt32LE(Number(id) >>> 0, 4 * index));
  return ids;
}
