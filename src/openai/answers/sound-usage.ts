import type { Usage } from '../../framework/observer.ts';
import type { AnswerHeaders } from './answer-text.ts';
import type { UsageReader } from './usage-reader.ts';

/** Answers of bytes: their usage stands in headers, where vLLM-Omni knows it before it begins. */
const SOUND = /^(?:audio\/|application\/octet-stream)/i;
const PREFIX = 'x-vllm-omni-';
const COUNT = /^\d{1,15}$/;

/** What finds the usage of an answer with these headers: of a sound, not `reader`. */
export function usageReaderOf(
  headers: AnswerHeaders,
  reader: UsageReader | undefined,
): UsageReader | undefined {
  if (reader === undefined || !SOUND.test(headers.get('content-type') ?? '')) return reader;
  const usage = usageIn(headers);
  return usage && { push: () => undefined, take: () => usage };
}

function usageIn(headers: AnswerHeaders): Usage | undefined {
  const [promptTokens, completionTokens] = ['input', 'output'].map((what) => {
    const given = headers.get(`${PREFIX}${what}-tokens`)?.trim() ?? '';
    return COUNT.test(given) ? Number(given) : undefined;
  });
  if (promptTokens === undefined && completionTokens === undefined) return undefined;
  return {
    promptTokens: promptTokens ?? 0,
    completionTokens: completionTokens ?? 0,
    cachedTokens: undefined,
  };
}
