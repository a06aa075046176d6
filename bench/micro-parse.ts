import { Bench } from 'tinybench';
import { DEFAULT_MEDIA } from '../src/framework/prompt-reading.ts';
import { createOpenBody } from '../src/openai/parsers/open-body.ts';

/**
 * Measures the time to read a request: `node bench/micro-parse.ts [rounds]`. Compares it with the
 * time to decode and parse the same bytes with JSON.parse, which checks them but finds and hashes
 * nothing. Prints the median and the best of several rounds, because on a shared machine only the
 * best is repeatable.
 */

/** Bytes of one HTTP/2 read through Envoy. */
const CHUNK_BYTES = 16 * 1024;
const SIZES: ReadonlyMap<string, number> = new Map([
  ['1 KB', 1024],
  ['32 KB', 32 * 1024],
  ['400 KB', 400 * 1024],
]);

const SENTENCE =
  'The quick brown fox jumps over the lazy dog, and then it reads the manual again. ';
/** Like answers of tools and quoted code: a newline or a quote about every forty bytes. */
const CODE_LINE =
  '    const answer = await fetch("https://example.com");\n\treturn answer.json();\n';

function textOf(bytes: number, line: string): string {
  return line.repeat(Math.ceil(bytes / line.length)).slice(0, bytes);
}

/** One long message, such as a document to summarise. */
function singleMessage(bytes: number): unknown {
  const content = textOf(Math.max(0, bytes - 120), SENTENCE);
  return {
    model: 'meta-llama/Llama-3.1-8B-Instruct',
    stream: true,
    max_tokens: 256,
    messages: [{ role: 'user', content }],
  };
}

/**
 * An agent's conversation: tools, short turns, tool answers full of escapes, and another alphabet
 * now and then.
 */
function agentConversation(bytes: number): unknown {
  const tool = (index: number): unknown => ({
    type: 'function',
    function: {
      name: `tool_${index}`,
      description: textOf(120, SENTENCE),
      parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    },
  });
  const toolCount = Math.max(1, Math.min(20, Math.floor(bytes / 2048)));
  const body = {
    model: 'meta-llama/Llama-3.1-8B-Instruct',
    stream: true,
    tools: Array.from({ length: toolCount }, (_, index) => tool(index)),
    messages: [{ role: 'system', content: textOf(200, SENTENCE) }] as unknown[],
    max_completion_tokens: 512,
  };
  let size = JSON.stringify(body).length;
  for (let turn = 0; size < bytes; turn++) {
    const id = `call_${turn}`;
    const said = [
      { role: 'user', content: `${textOf(60, SENTENCE)} «très bien» 你好` },
      {
        role: 'assistant',
        content: '',
        tool_calls: [
          { id, type: 'function', function: { name: 'tool_0', arguments: '{"path":"src/a.ts"}' } },
        ],
      },
      { role: 'tool', tool_call_id: id, content: textOf(900, CODE_LINE) },
    ];
    body.messages.push(...said);
    size += JSON.stringify(said).length;
  }
  return body;
}

const options = { bodyBytesMax: 64 * 1024 * 1024, hashSeed: 7 };
const openBody = createOpenBody(options);
/** As a configuration of the reference has it. */
const prompts = { referenceText: true, media: DEFAULT_MEDIA };
const openReferenceBody = createOpenBody({ ...options, prompts: () => prompts });
const head = { id: 'r', path: '/v1/chat/completions', headers: new Map<string, string>() };

/** Separate buffers, as a body arrives from Envoy. */
function chunksOf(body: Buffer, chunkBytes: number): readonly Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0; at < body.length; at += chunkBytes) {
    chunks.push(Buffer.from(body.subarray(at, at + chunkBytes)));
  }
  return chunks;
}

let sink = 0;

function read(chunks: readonly Buffer[], open = openBody): void {
  const reader = open(head);
  for (const chunk of chunks) reader.push(chunk);
  sink += reader.end().prompt.count;
}

interface Timing {
  best: number;
  readonly medians: number[];
}

const tokenIds = Buffer.from(
  JSON.stringify({ model: 'm', prompt: Array.from({ length: 60_000 }, (_, i) => 1000 + 7 * i) }),
);
const tasks = new Map<string, () => void>();
for (const [kind, make] of Object.entries({ single: singleMessage, agent: agentConversation })) {
  for (const [size, bytes] of SIZES) {
    const body = Buffer.from(JSON.stringify(make(bytes)));
    const whole = [body];
    const chunks = chunksOf(body, CHUNK_BYTES);
    tasks.set(`${kind} ${size}, one chunk`, () => read(whole));
    if (chunks.length > 1)
      tasks.set(`${kind} ${size}, ${chunks.length} chunks`, () => read(chunks));
    tasks.set(`${kind} ${size}, the reference’s text`, () => read(chunks, openReferenceBody));
    tasks.set(`${kind} ${size}, JSON.parse`, () => {
      sink += JSON.parse(body.toString()).model.length;
    });
  }
}
const tokenHead = { ...head, path: '/v1/completions' };
tasks.set(`${Math.round(tokenIds.length / 1024)} KB of token ids`, () => {
  const reader = openBody(tokenHead);
  reader.push(tokenIds);
  sink += reader.end().prompt.count;
});
tasks.set(`${Math.round(tokenIds.length / 1024)} KB of token ids, JSON.parse`, () => {
  sink += JSON.parse(tokenIds.toString()).model.length;
});

const rounds = Number(process.argv[2] ?? 5);
const timings = new Map<string, Timing>();
for (let round = 0; round < rounds; round++) {
  const bench = new Bench({ time: 100, warmupTime: 50 });
  for (const [name, task] of tasks) bench.add(name, task);
  await bench.run();
  for (const { name, result } of bench.tasks) {
    if (!('latency' in result)) throw new Error(`no figure for ${name}`);
    const timing = timings.get(name) ?? { best: Number.POSITIVE_INFINITY, medians: [] };
    timing.best = Math.min(timing.best, result.latency.p50);
    timing.medians.push(result.latency.p50);
    timings.set(name, timing);
  }
}

const µs = (ms: number): string => (1000 * ms).toFixed(1);
console.table(
  Object.fromEntries(
    [...timings].map(([name, { best, medians }]) => {
      const middle = medians.toSorted((a, b) => a - b)[Math.floor(medians.length / 2)] ?? best;
      return [name, { 'best µs': µs(best), 'median µs': µs(middle) }];
    }),
  ),
);
if (sink === 0) throw new Error('nothing was read');
