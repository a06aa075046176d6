import { createServer, type Server as HttpServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { simple } from './configs.ts';
import { isReplaced, SIMULATOR } from './processes.ts';
import { binary, MODEL, Scenario } from './scenario.ts';

/** Every API through Envoy, picker and sidecar: the bytes that the model server gets and sends. */

const TEXT = 'Which planet is the largest, and how many moons does it have?';
const REQUESTS: readonly (readonly [path: string, body: object])[] = [
  ['/v1/chat/completions', { messages: [{ role: 'user', content: TEXT }], max_tokens: 12 }],
  ['/v1/completions', { prompt: TEXT, max_tokens: 12 }],
  ['/v1/responses', { input: TEXT, max_output_tokens: 12 }],
  ['/v1/messages', { messages: [{ role: 'user', content: TEXT }], max_tokens: 12 }],
  ['/inference/v1/generate', { token_ids: [1, 2, 3, 4], sampling_params: { max_tokens: 12 } }],
  ['/generate', { text: TEXT, sampling_params: { max_new_tokens: 12 } }],
];

/** What answers in one piece only. */
const WHOLE: readonly (readonly [path: string, body: object])[] = [
  ['/v1/embeddings', { input: TEXT }],
  ['/v1/chat/completions/render', { messages: [{ role: 'user', content: TEXT }] }],
  ['/v1/completions/render', { prompt: TEXT }],
  ['/v1/messages/count_tokens', { messages: [{ role: 'user', content: TEXT }] }],
  ['/v1/images/generations', { prompt: TEXT }],
  ['/v1/audio/speech', { input: TEXT, voice: 'alloy' }],
  ['/v1/rerank', { query: TEXT, documents: [TEXT, 'no'] }],
  ['/score', { text_1: TEXT, text_2: [TEXT, 'no'] }],
  ['/tokenize', { prompt: TEXT }],
];

interface Passed {
  readonly asked: string;
  answered: string;
}

/** The bytes of a text, one character each. */
const latin1 = (text: string): string => Buffer.from(text).toString('latin1');

/** Passes requests on to the model server, and keeps the last bodies of both directions. */
class Recorder {
  readonly #server: HttpServer;
  last: Passed = { asked: '', answered: '' };

  constructor(engine: string) {
    this.#server = createServer((incoming, response) => {
      const { method, headers, url = '' } = incoming;
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => void chunks.push(chunk));
      incoming.on('end', () => {
        const body = Buffer.concat(chunks);
        const passed: Passed = { asked: body.toString(), answered: '' };
        if (method === 'POST') this.last = passed;
        const asked = request(`http://${engine}${url}`, { method, headers }, (answer) => {
          response.writeHead(answer.statusCode ?? 500, answer.headers);
          answer.on('data', (chunk: Buffer) => {
            passed.answered += chunk.toString('latin1');
            response.write(chunk);
          });
          answer.on('end', () => void response.end());
        });
        // Such as a scrape that the end of the model server breaks off.
        asked.on('error', () => response.destroy());
        asked.end(body);
      });
    });
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => void this.#server.listen(0, '127.0.0.1', resolve));
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

describe.skipIf(binary === undefined || isReplaced(SIMULATOR))('a model server behind all', () => {
  const scenario = new Scenario();
  let recorder: Recorder;
  beforeAll(async () => {
    const [engine] = await scenario.startServers(['decode']);
    if (engine === undefined) throw new Error('no engine');
    recorder = new Recorder(engine.address);
    const recorded = { ...engine, address: await recorder.start() };
    await scenario.start(simple, await scenario.withSidecars([recorded], []));
  });
  afterAll(async () => {
    await scenario.stop();
    recorder?.stop();
  });

  it.each(
    REQUESTS.flatMap(([path, body]) => [
      [path, 'whole', { ...body, stream: false }] as const,
      [path, 'streamed', { ...body, stream: true }] as const,
    ]),
  )('[B100] gets and sends at %s, %s, the bytes of the client', async (path, how, body) => {
    // Numbers that another writer of JSON would write in another way.
    const seed = '"trace_number":1234567890123456789,"temperature":1.0';
    const sent = `{ "model":"${MODEL}", ${seed}, ${JSON.stringify(body).slice(1)}`;
    const response = await fetch(`${scenario.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: sent,
    });
    const text = await response.text();
    expect(response.status).toBe(200);
    expect(recorder.last).toEqual({ asked: sent, answered: latin1(text) });
    const type = how === 'whole' ? 'application/json' : 'text/event-stream';
    expect(response.headers.get('content-type')).toContain(type);
    expect(text.length).toBeGreaterThan(100);
  });

  it.each(WHOLE)('[B100] gets and sends at %s the bytes of the client', async (path, body) => {
    const sent = `{ "model":"${MODEL}", "trace_number":1234567890123456789, ${JSON.stringify(body).slice(1)}`;
    const response = await fetch(`${scenario.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: sent,
    });
    const answered = Buffer.from(await response.arrayBuffer()).toString('latin1');
    expect(response.status).toBe(200);
    expect(recorder.last).toEqual({ asked: sent, answered });
  });

  it('[B100] gets a recording and sends its transcription byte by byte', async () => {
    const form = new FormData();
    form.set('model', MODEL);
    form.set('file', new Blob([Buffer.from('RIFF0000WAVE')]), 'sound.wav');
    const url = `${scenario.url}/v1/audio/transcriptions`;
    const response = await fetch(url, { method: 'POST', body: form });
    const text = await response.text();
    expect(response.status).toBe(200);
    expect(latin1(text)).toBe(recorder.last.answered);
    expect(recorder.last.asked).toContain('RIFF0000WAVE');
  });

  it.each(REQUESTS)('[B100] sends what it refuses at %s on to the client', async (path) => {
    const limits = {
      max_tokens: -1,
      sampling_params: { max_tokens: -1, max_new_tokens: -1 },
      max_output_tokens: -1,
    };
    const response = await scenario.post(path, limits);
    const text = await response.text();
    expect(response.status).toBeGreaterThanOrEqual(400);
    if (recorder.last.asked.includes('-1')) expect(latin1(text)).toBe(recorder.last.answered);
  });
});
