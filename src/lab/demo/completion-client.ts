import { Agent } from 'undici';
import type { PlannedRequest } from './demo-workload.ts';

export interface CompletionHooks {
  /** The first byte of the answer's body is here: the first token. */
  onFirstToken(): void;
  onTokens(count: number): void;
}

export interface CompletionOutcome {
  /** Undefined when the answer was cut by us after its first token, or came whole. */
  readonly error: string | undefined;
  /** The name of the endpoint that served. */
  readonly endpoint: string | undefined;
}

export interface CompletionClient {
  /** Streams one answer. Never rejects; `signal` cuts it. */
  complete(
    request: PlannedRequest,
    hooks: CompletionHooks,
    signal: AbortSignal,
  ): Promise<CompletionOutcome>;
  close(): Promise<void>;
}

export interface CompletionClientOptions {
  readonly origin: string;
  readonly model: string;
}

const NEWLINE = 0x0a;
const ERROR_CHARS_MAX = 200;

/** A streaming client of `/v1/completions` that keeps no answer, only counts its tokens. */
export function createCompletionClient({
  origin,
  model,
}: CompletionClientOptions): CompletionClient {
  const agent = new Agent({ connections: null, headersTimeout: 0, bodyTimeout: 0 });
  return {
    async complete(request, hooks, signal) {
      let endpoint: string | undefined;
      let begun = false;
      try {
        const { statusCode, headers, body } = await agent.request({
          origin,
          path: '/v1/completions',
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({
            model,
            prompt: request.prompt,
            max_tokens: request.outputTokens,
            ignore_eos: true,
            stream: true,
          }),
          signal,
        });
        const served = headers['x-inference-pod'];
        endpoint = typeof served === 'string' ? served : undefined;
        if (statusCode !== 200) {
          const text = (await body.text()).slice(0, ERROR_CHARS_MAX);
          return { error: `${statusCode} ${text}`, endpoint };
        }
        const events = eventCounter();
        for await (const chunk of body) {
          if (!begun) hooks.onFirstToken();
          begun = true;
          hooks.onTokens(events(chunk as Buffer));
        }
        // The last event is [DONE].
        hooks.onTokens(-1);
        return { error: begun ? undefined : 'the answer was empty', endpoint };
      } catch (error) {
        return { error: begun && signal.aborted ? undefined : String(error), endpoint };
      }
    },
    close: () => agent.destroy(),
  };
}

/** Counts server-sent events, each ended by an empty line; the stub sends one for each token. */
function eventCounter(): (chunk: Buffer) => number {
  let afterNewline = false;
  return (chunk) => {
    let count = 0;
    for (const byte of chunk) {
      if (byte !== NEWLINE) afterNewline = false;
      else if (afterNewline) {
        count += 1;
        afterNewline = false;
      } else afterNewline = true;
    }
    return count;
  };
}
