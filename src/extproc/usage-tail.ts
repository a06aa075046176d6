import type { Usage } from '../framework/observer.ts';

/** The usage object stands at the end of an answer; this much of it is kept, by reference, to find it in. */
const TAIL_BYTES = 8 * 1024;

/** Watches a response pass and tells at its end what token usage it reported. Never looks at a byte before that. */
export class UsageTail {
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    for (;;) {
      const first = this.#chunks[0];
      if (first === undefined || this.#bytes - first.length < TAIL_BYTES) return;
      this.#chunks.shift();
      this.#bytes -= first.length;
    }
  }

  /** The last usage object with counts in it, under OpenAI's or Anthropic's names. */
  usage(): Usage | undefined {
    const text = Buffer.concat(this.#chunks)
      .subarray(-2 * TAIL_BYTES)
      .toString('latin1');
    let from = text.length;
    for (;;) {
      const at = text.lastIndexOf('"usage"', from);
      if (at < 0) return undefined;
      const usage = usageOf(objectAt(text, at + '"usage"'.length));
      if (usage !== undefined || at === 0) return usage;
      from = at - 1;
    }
  }
}

/** The JSON object that follows a key, parsed; undefined when it is no object or is cut short. */
function objectAt(text: string, afterKey: number): Record<string, unknown> | undefined {
  const start = text.indexOf('{', afterKey);
  if (start < 0 || text.slice(afterKey, start).replace(/[\s:]/g, '') !== '') return undefined;
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (character === '{') depth += 1;
    if (character === '}' && --depth === 0) return parsed(text.slice(start, at + 1));
  }
  return undefined;
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    // Text that looks like a usage object inside an answer: not ours to judge.
    return undefined;
  }
}

function usageOf(object: Record<string, unknown> | undefined): Usage | undefined {
  if (object === undefined) return undefined;
  const promptTokens = count(object['prompt_tokens'] ?? object['input_tokens']);
  const completionTokens = count(object['completion_tokens'] ?? object['output_tokens']);
  if (promptTokens === undefined || completionTokens === undefined) return undefined;
  const details = object['prompt_tokens_details'] ?? object['input_tokens_details'];
  const cachedTokens =
    count((details as Record<string, unknown> | null | undefined)?.['cached_tokens']) ??
    count(object['cache_read_input_tokens']);
  return { promptTokens, completionTokens, cachedTokens };
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
