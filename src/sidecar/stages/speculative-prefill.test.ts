import { describe, expect, it } from 'vitest';
import { eventually } from '../../../bench/support/stack.ts';
import type { Visit } from '../../../test/support/sidecar/scripted-server.ts';
import { sidecarBed } from '../../../test/support/sidecar/sidecar-bed.ts';
import type { SidecarOptions } from '../options/sidecar-options.ts';
import type { Sidecar } from '../start-sidecar.ts';

const CHAT = '/v1/chat/completions';
const ASKED =
  '{"model":"m","messages":[{"role":"user","content":"hi","n":1.50}],"max_tokens":20,"stream":false}';
const ANSWER = JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'hello' } }] });
const STREAMED = ['hel', 'lo', ''].map(
  (content) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`,
);

const bed = sidecarBed();

const started = (overrides: Partial<SidecarOptions> = {}): Promise<Sidecar> =>
  bed.started({ speculativePrefill: true, ...overrides });

function chat(sidecar: Sidecar, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  return fetch(`http://${sidecar.address}${CHAT}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-speculative-prefill': 'true', ...headers },
    body: ASKED,
  }).then((response) => response.text());
}

function answer({ response }: Visit, body: string, type = 'application/json'): void {
  response.setHeader('content-type', type);
  response.end(body);
}

/** The conversation as it is computed ahead: every byte of the client's part as it was. */
const AHEAD =
  '{"model":"m","messages":[{"role":"user","content":"hi","n":1.50},{"role":"assistant","content":"hello"},{"role":"user","content":" "}],"max_tokens":1,"stream":false,"max_completion_tokens":1}';

describe('a conversation that goes on', () => {
  it.each([
    ['whole', ANSWER, 'application/json'],
    ['streamed', `${STREAMED.join('')}data: [DONE]\n\n`, 'text/event-stream'],
  ])('[B101] is computed by the engine ahead of its next turn: %s', async (_, body, type) => {
    const text = chat(await started());
    const asked = await bed.engine.next();
    expect([asked.body, asked.headers['x-speculative-prefill']]).toEqual([ASKED, undefined]);
    answer(asked, body, type);
    expect(await text).toBe(body);
    const ahead = await bed.engine.next();
    expect([ahead.path, JSON.parse(ahead.body)]).toEqual([CHAT, JSON.parse(AHEAD)]);
    expect(ahead.body).toContain('"n":1.50');
    answer(ahead, ANSWER);
  });

  it('[B101] is computed by the server that has computed its prompt', async () => {
    const text = chat(await started(), { 'x-prefiller-host-port': bed.prefiller.address });
    answer(await bed.prefiller.next(), '{"kv_transfer_params":{"remote_host":"10.0.0.9"}}');
    answer(await bed.engine.next(), ANSWER);
    expect(JSON.parse(await text)).toMatchObject(JSON.parse(ANSWER) as object);
    const ahead = await bed.prefiller.next();
    expect(JSON.parse(ahead.body)).toEqual(JSON.parse(AHEAD));
    answer(ahead, ANSWER);
    expect(bed.engine.visits).toBe(1);
  });

  it('[B101] is computed by both servers with SGLang, which meet at a room', async () => {
    const text = chat(await started({ connector: 'sglang' }), {
      'x-prefiller-host-port': bed.prefiller.address,
    });
    answer(await bed.prefiller.next(), ANSWER);
    answer(await bed.engine.next(), ANSWER);
    await text;
    const [first, second] = [await bed.prefiller.next(), await bed.engine.next()];
    expect(first.body).toBe(second.body);
    const { bootstrap_room: room, ...rest } = JSON.parse(first.body) as Record<string, unknown>;
    expect(room).toBeTypeOf('number');
    expect(rest).toMatchObject(JSON.parse(AHEAD) as object);
    for (const each of [first, second]) answer(each, ANSWER);
  });

  it('[B101] is computed one at a time, and a failure changes nothing', async () => {
    const sidecar = await started();
    const first = chat(sidecar);
    answer(await bed.engine.next(), ANSWER);
    await first;
    const ahead = await bed.engine.next();
    const second = chat(sidecar);
    answer(await bed.engine.next(), ANSWER);
    expect(await second).toBe(ANSWER);
    ahead.response.writeHead(500).end();
    await eventually(
      () => bed.logged.join(),
      (lines) => lines.includes('a conversation was not computed ahead: answered 500'),
    );
    expect(bed.engine.visits).toBe(3);
    const third = chat(sidecar);
    answer(await bed.engine.next(), ANSWER);
    await third;
    expect(JSON.parse((await bed.engine.next()).body)).toEqual(JSON.parse(AHEAD));
  });

  it.each([
    ['is switched off', { speculativePrefill: false }, {}],
    ['is not asked for', {}, { 'x-speculative-prefill': 'false' }],
  ])('[B101] is left to its next turn where this %s', async (_, options, headers) => {
    const sidecar = await started(options);
    for (let turn = 1; turn <= 2; turn++) {
      const text = chat(sidecar, headers);
      const asked = await bed.engine.next();
      expect(asked.body).toBe(ASKED);
      answer(asked, ANSWER);
      await text;
    }
  });
});
