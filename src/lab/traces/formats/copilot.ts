import { z } from 'zod';
import { nonNegative, outputTokens, parseJson, promptTokens } from '../json-fields.ts';
import type { RecordedEnd, TraceRequest } from '../trace.ts';
import { SKIPPED, type TraceFormat, type TraceReader } from '../trace-format.ts';
import { utcMs } from '../utc-time.ts';

/** The service counts what it found in its cache in steps of so many tokens. */
const BLOCK_TOKENS = 128;

const call = z.object({
  timestamp: z.string(),
  duration_ms: nonNegative.nullish(),
  model: z.string().nullish(),
  result: z.string().nullish(),
  tokens: z
    .object({
      // 0 where a call has failed before its prompt was counted.
      prompt: z.union([z.literal(0), promptTokens]).nullish(),
      completion: outputTokens.nullish(),
      cached: nonNegative.nullish(),
    })
    .nullish(),
});

const record = z.object({
  session_id: z.string(),
  turns: z.array(z.object({ llm_calls: z.array(call).nullish() })),
});

type CopilotCall = z.infer<typeof call>;

/** What the calls of one session have shown so far. */
interface CopilotSession {
  readonly id: string;
  /** The blocks of the last prompt to each model, which has a cache of its own. */
  readonly prompts: Map<string, readonly number[]>;
  /** When the last answer ended; NaN if it is not known. */
  endMs: number;
}

/** GitHub Copilot's sessions of coding agents in Azure's public traces, a session a line. */
export const COPILOT: TraceFormat = {
  name: 'copilot',
  about: 'JSON Lines of the GitHub Copilot coding agent traces',
  carries: ['blockIds', 'model', 'session', 'thinkMs', 'seen'],
  shape: 'lines',
  firstLine: (text) =>
    text.startsWith('{') && text.includes('"session_id"') && text.includes('"llm_calls"'),
  // Sessions overlap.
  ordered: false,
  reader: () => new CopilotReader(),
};

class CopilotReader implements TraceReader {
  readonly blockTokens: number = BLOCK_TOKENS;
  /** The blocks with which the sessions of a model begin, as far as any needed them. */
  readonly #beginnings = new Map<string, number[]>();
  #blocks = 0;

  readonly read = (line: string): readonly (TraceRequest | typeof SKIPPED)[] | string => {
    const parsed = parseJson(line, record);
    if (typeof parsed === 'string') return parsed;
    const calls = parsed.turns.flatMap(({ llm_calls }) => llm_calls ?? []);
    const timed = calls.map((each) => ({ ...each, atMs: utcMs(each.timestamp) }));
    const undated = timed.find(({ atMs }) => Number.isNaN(atMs));
    if (undated !== undefined) return `timestamp: ${JSON.stringify(undated.timestamp)} is no time`;
    const id = parsed.session_id;
    const session: CopilotSession = { id, prompts: new Map(), endMs: Number.NaN };
    return timed
      .sort((a, b) => a.atMs - b.atMs)
      .map((each) => this.#request(each, session) ?? SKIPPED);
  };

  /** Undefined for a call of unknown size. */
  #request(
    each: CopilotCall & { atMs: number },
    session: CopilotSession,
  ): TraceRequest | undefined {
    const { atMs, duration_ms: e2eMs, result, tokens } = each;
    if (!tokens?.prompt) return undefined;
    const { prompt, completion } = tokens;
    const model = each.model ?? '';
    const thinkMs = atMs - session.endMs;
    session.endMs = atMs + (e2eMs ?? Number.NaN);
    const blockIds = this.#blocksOf(prompt, tokens.cached ?? 0, session.prompts.get(model), model);
    session.prompts.set(model, blockIds);
    const outcome = outcomeOf(result);
    return {
      atMs,
      model,
      promptTokens: prompt,
      // A call without an answer has no tokens, whatever it asked for.
      outputTokens: outcome === 'completed' ? (completion ?? Number.NaN) : answered(completion),
      blockIds,
      session: session.id,
      // Calls of one session may overlap.
      ...(thinkMs >= 0 && { thinkMs }),
      seen: { outcome, ...(typeof e2eMs === 'number' && { e2eMs }) },
    };
  }

  /**
   * The trace has no text. What was cached is taken for the beginning of the prompt before in the
   * session, and in a session's first prompt for what all sessions of its model begin with.
   */
  #blocksOf(
    prompt: number,
    cached: number,
    before: readonly number[] | undefined,
    model: string,
  ): readonly number[] {
    const full = Math.floor(prompt / BLOCK_TOKENS);
    const shared = Math.min(full, Math.floor(cached / BLOCK_TOKENS));
    const known = before ?? this.#beginning(model, shared);
    const kept = known.slice(0, shared);
    return [...kept, ...Array.from({ length: full - kept.length }, () => this.#blocks++)];
  }

  #beginning(model: string, blocks: number): readonly number[] {
    const beginning = this.#beginnings.get(model) ?? [];
    this.#beginnings.set(model, beginning);
    while (beginning.length < blocks) beginning.push(this.#blocks++);
    return beginning;
  }
}

function answered(tokens: number | null | undefined): number {
  return tokens !== undefined && tokens !== null && tokens > 1 ? tokens : Number.NaN;
}

function outcomeOf(result: string | null | undefined): RecordedEnd['outcome'] {
  if (result === undefined || result === null || /^success$/i.test(result)) return 'completed';
  return /cancel/i.test(result) ? 'aborted' : 'failed';
}
