import { describe, expect, it } from 'vitest';
import { checkedObject } from '../../../test/support/sidecar/checked-object.ts';
import { sidecarBed } from '../../../test/support/sidecar/sidecar-bed.ts';
import type { JsonObject } from '../../openai/json/json-object.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { apiOf } from '../body/generation-api.ts';
import type { SidecarOptions } from '../options/sidecar-options.ts';
import type { Sidecar } from '../start-sidecar.ts';
import { EarlierTurns } from './earlier-turns.ts';

const bed = sidecarBed();

const started = (overrides: Partial<SidecarOptions> = {}): Promise<Sidecar> =>
  bed.started({ earlierTurns: { turnsMax: 2, keepMs: 1_000 }, ...overrides });

/** What the engine holds after its answer; ids of blocks have any number of digits. */
const HELD = {
  do_remote_prefill: false,
  do_remote_decode: true,
  remote_block_ids: [[1, 2, 3]],
  remote_engine_id: 'decoder',
  remote_request_id: 'chatcmpl-1',
  remote_host: '10.0.0.7',
  remote_port: 5600,
  remote_num_tokens: 192,
  tp_size: 1,
};
const held = (more: object = {}): string =>
  JSON.stringify({ ...HELD, ...more }).replace('192', '192.0');

interface Message {
  readonly role: string;
  readonly content?: unknown;
  readonly [more: string]: unknown;
}
const user = (content: unknown): Message => ({ role: 'user', content });
const said = (content: unknown, more: object = {}): Message => ({
  role: 'assistant',
  content,
  ...more,
});
const CALL = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{"q":1}' } };

interface Sent {
  readonly body: object;
  /** The whole answer of the engine. */
  readonly answer: string;
  readonly type: string;
}

/** Sends a chat, and gives what the prefilling server was told of KV, and what the client got. */
async function turn(
  sidecar: Sidecar,
  messages: readonly Message[],
  { body = {}, answer = whole(said('hello')), type = 'application/json' }: Partial<Sent> = {},
): Promise<{ readonly told: string; readonly got: string }> {
  const response = fetch(`http://${sidecar.address}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-prefiller-host-port': bed.prefiller.address },
    body: JSON.stringify({ model: 'm', messages, ...body }),
  }).then((got) => got.text());
  const prefill = await bed.prefiller.next();
  prefill.response.end('{"kv_transfer_params":{"do_remote_prefill":true}}');
  const decode = await bed.engine.next();
  decode.response.setHeader('content-type', type);
  decode.response.end(answer);
  const got = await response;
  return { told: toldIn(prefill.body), got };
}

function toldIn(body: string): string {
  return JSON.stringify(
    (JSON.parse(body) as { readonly kv_transfer_params: object }).kv_transfer_params,
  );
}

function whole(message: object, params = held()): string {
  return `{"choices":[{"index":0,"message":${JSON.stringify(message)}}],"kv_transfer_params":${params}}`;
}

/** The text comes in pieces, of which one ends within a character. */
function streamed(pieces: readonly string[]): string {
  const events = pieces.map((content) => JSON.stringify({ choices: [{ delta: { content } }] }));
  const last = `{"choices":[],"kv_transfer_params":${held()}}`;
  return [...events, last, '[DONE]'].map((each) => `data: ${each}\n\n`).join('');
}

const TAKES = '"remote_engine_id":"decoder"';

describe('the KV of a turn that the engine still holds', () => {
  it('[B210] is taken by the prefilling server of the next turn, in the engine’s bytes', async () => {
    const sidecar = await started();
    const first = await turn(sidecar, [user('hi')], {
      answer: whole(said('hello'), held({ x: 1 })),
    });
    expect(first.told).toContain('"remote_engine_id":null');
    expect(first.got).toContain('"kv_transfer_params"');
    const next = await fetchNext(sidecar, [user('hi'), said('hello'), user('and?')]);
    for (const part of [TAKES, '"do_remote_decode":true', '"remote_num_tokens":192.0']) {
      expect(next).toContain(part);
    }
    expect(next).toContain('"do_remote_prefill":false');
    expect(next).not.toContain('"x":1');
  });

  /** The bytes of the prefill leg. */
  async function fetchNext(sidecar: Sidecar, messages: readonly Message[]): Promise<string> {
    const response = fetch(`http://${sidecar.address}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-prefiller-host-port': bed.prefiller.address,
      },
      body: JSON.stringify({ model: 'm', messages }),
    });
    const prefill = await bed.prefiller.next();
    prefill.response.end('{"kv_transfer_params":{}}');
    (await bed.engine.next()).response.end(whole(said('hello')));
    await (await response).text();
    return prefill.body;
  }

  it('[B210] also of a streamed answer, whose bytes the client gets as they are', async () => {
    const sidecar = await started();
    const answer = streamed(['he', 'llo \ud83d', '\ude00']);
    const type = 'text/event-stream';
    const { got } = await turn(sidecar, [user('hi')], { answer, type });
    expect(got).toBe(answer);
    const { told } = await turn(sidecar, [user('hi'), said('hello 😀'), user('and?')]);
    expect(told).toContain(TAKES);
  });

  it('[B210] is taken once, and of the longest turn', async () => {
    const sidecar = await started();
    const two = [user('hi'), said('hello'), user('and?')];
    const three = [...two, said('yes'), user('so?')];
    await turn(sidecar, [user('hi')]);
    const engine2 = held({ remote_engine_id: 'later' });
    expect((await turn(sidecar, two, { answer: whole(said('yes'), engine2) })).told).toContain(
      TAKES,
    );
    expect((await turn(sidecar, three)).told).toContain('"remote_engine_id":"later"');
    expect((await turn(sidecar, three)).told).toContain('"remote_engine_id":null');
  });

  it.each([
    ['another tenant', { body: { cache_salt: 'b' } }],
    ['another model', { body: { model: 'b' } }],
    ['other tools', { body: { tools: [CALL] } }],
    ['a cut prompt', { body: { truncate_prompt_tokens: 9 } }],
    ['several answers', { body: { n: 2 } }],
    ['an edited question', { messages: [user('ho'), said('hello'), user('and?')] }],
    ['an edited answer', { messages: [user('hi'), said('hullo'), user('and?')] }],
    ['no new message', { messages: [user('hi'), said('hello')] }],
    [
      'a call that was not made',
      { messages: [user('hi'), said('hello', { tool_calls: [CALL] }), user('and?')] },
    ],
  ] as const)('[B211] is not taken by %s', async (_, other) => {
    const sidecar = await started();
    await turn(sidecar, [user('hi')]);
    const { messages = [user('hi'), said('hello'), user('and?')], ...sent } = other as {
      readonly messages?: readonly Message[];
      readonly body?: object;
    };
    expect((await turn(sidecar, messages, sent)).told).toContain('"remote_engine_id":null');
  });

  it('[B211] is taken whatever else the client adds to an answer that it sends back', async () => {
    const sidecar = await started();
    await turn(sidecar, [user('hi')], { answer: whole(said(null, { tool_calls: [CALL] })) });
    const echoed = said('', { tool_calls: [CALL], refusal: null, annotations: [] });
    const result = { role: 'tool', tool_call_id: 'c1', content: 'found' };
    expect((await turn(sidecar, [user('hi'), echoed, result])).told).toContain(TAKES);
  });

  it.each([
    ['of an engine that does not hold it', said('hello'), { do_remote_decode: false }],
    ['without the request', said('hello'), { remote_request_id: '' }],
    ['without blocks', said('hello'), { remote_block_ids: [] }],
    ['whose ids would fill the memory', said('hello'), { remote_host: 'h'.repeat(70_000) }],
    ['after reasoning, which clients leave out', said('hello', { reasoning: 'hm' }), {}],
    ['of an empty answer', said(''), {}],
  ])('[B211] is not known %s', async (_, message, more) => {
    const sidecar = await started();
    await turn(sidecar, [user('hi')], { answer: whole(message, held(more)) });
    const next = await turn(sidecar, [user('hi'), message, user('and?')]);
    expect(next.told).toContain('"remote_engine_id":null');
  });

  it('[B211] is known for a time, and of so many turns', async () => {
    const sidecar = await started();
    const again = async (name: string): Promise<boolean> =>
      (await turn(sidecar, [user(name), said('hello'), user('and?')])).told.includes(TAKES);
    for (const name of ['a', 'b', 'c']) await turn(sidecar, [user(name)]);
    expect(await again('c')).toBe(true);
    expect(await again('a')).toBe(false);
    await turn(sidecar, [user('d')]);
    bed.clock.advanceTo(1_000);
    expect(await again('d')).toBe(false);
  });

  it('[B210] is not asked for a second time after a failure', async () => {
    const sidecar = await started({ prefillRetries: 1, prefillRetryBackoffMs: 1 });
    await turn(sidecar, [user('hi')]);
    const response = fetch(`http://${sidecar.address}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-prefiller-host-port': bed.prefiller.address,
      },
      body: JSON.stringify({ model: 'm', messages: [user('hi'), said('hello'), user('and?')] }),
    });
    const failed = await bed.prefiller.next();
    expect(toldIn(failed.body)).toContain(TAKES);
    failed.response.writeHead(503).end();
    const again = bed.prefiller.next();
    while (bed.prefiller.visits < 3) {
      bed.clock.advanceTo(bed.clock.now() + 1);
      await new Promise(setImmediate);
    }
    const retried = await again;
    expect(toldIn(retried.body)).toContain('"remote_engine_id":null');
    retried.response.end('{"kv_transfer_params":{}}');
    (await bed.engine.next()).response.end('{}');
    expect((await response).status).toBe(200);
  });
});

it('[V493] follows no conversation of more than 4,096 messages, which would stop the others', async () => {
  const turns = new EarlierTurns(new SimulatedClock(), { turnsMax: 2, keepMs: 1_000 });
  const api = apiOf('/v1/chat/completions');
  if (api === undefined) throw new Error('there is no API of chats');
  const bodyOf = (messages: number): JsonObject =>
    checkedObject(`{"messages":[${Array.from({ length: messages }, () => '1').join()}]}`);
  expect(await turns.turnOf(bodyOf(4096), api)).toBeDefined();
  expect(await turns.turnOf(bodyOf(4097), api)).toBeUndefined();
});
