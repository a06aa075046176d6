import { vllmPage } from './vllm-page.ts';

/** `real-idle` is the page of a server that does nothing. */
export type PageKind = 'small' | 'real' | 'real-idle';

/** Different pages in turn: a scraper could skip a page that is equal to the previous one. */
const PAGE_VARIANTS = 32;
const MODEL = 'meta-llama/Llama-3.1-8B-Instruct';
/** The gauges that a scraper needs. */
const GAUGES = ['num_requests_running', 'num_requests_waiting', 'kv_cache_usage_perc'];

/** Complete HTTP answers to `GET /metrics` from servers under various loads. */
export function metricsAnswers(kind: PageKind): readonly Buffer[] {
  return Array.from({ length: PAGE_VARIANTS }, (_, index) => {
    const running = kind === 'real-idle' ? 0 : (index * 7) % 40;
    const waiting = kind === 'real-idle' ? 0 : (index * 3) % 12;
    const kvUsage = ((index * 31) % 100) / 128;
    const page =
      kind === 'small'
        ? smallPage([running, waiting, kvUsage])
        : vllmPage({ running, waiting, kvUsage, finished: 900 + index * 613 });
    return answer('text/plain; version=0.0.4', page);
  });
}

function smallPage(values: readonly number[]): string {
  const gauges = GAUGES.map((name, index) => {
    const series = `vllm:${name}{engine="0",model_name="${MODEL}"} ${values[index] ?? 0}`;
    return `# HELP vllm:${name} ${name}\n# TYPE vllm:${name} gauge\n${series}\n`;
  });
  return (
    `${gauges.join('')}# TYPE vllm:cache_config_info gauge\n` +
    'vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="27512"} 1\n'
  );
}

/** A complete HTTP answer: a short completion with usage. */
export function completionAnswer(): Buffer {
  return answer('application/json', JSON.stringify({ ...completion('chat.completion'), usage }));
}

export const EVENT_STREAM_HEAD: Buffer = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
);

const usage = { prompt_tokens: 211, completion_tokens: 100, total_tokens: 311 };

/** HTTP chunks of one event each; the last has usage, `[DONE]` and the end of the body. */
export function eventChunks(count: number): readonly Buffer[] {
  return Array.from({ length: count }, (_, index) => {
    const event = `data: ${JSON.stringify(completion('chat.completion.chunk', ` word${index}`))}\n\n`;
    if (index < count - 1) return Buffer.from(httpChunk(event));
    const last = { ...completion('chat.completion.chunk'), choices: [], usage };
    const end = `${event}data: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`;
    return Buffer.from(`${httpChunk(end)}0\r\n\r\n`);
  });
}

function completion(object: string, word = 'Yes.'): Record<string, unknown> {
  const text = { role: 'assistant', content: word };
  const part = object.endsWith('chunk') ? { delta: text } : { message: text };
  return {
    id: 'chatcmpl-7d1c2f0e9b7a4f0c8d35',
    object,
    created: 1_790_000_000,
    model: MODEL,
    choices: [{ index: 0, ...part, logprobs: null, finish_reason: null }],
  };
}

function httpChunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

/** A complete HTTP answer with status 200. */
export function answer(contentType: string, body: string): Buffer {
  const length = Buffer.byteLength(body);
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: ${contentType}\r\ncontent-length: ${length}\r\n\r\n${body}`,
  );
}
