import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import {
  type ScriptedServer,
  startScriptedServer,
  type Visit,
} from '../../test/support/sidecar/scripted-server.ts';
import { sidecarBed } from '../../test/support/sidecar/sidecar-bed.ts';
import { MORI, said as saidBy } from '../../test/support/sidecar/walks.ts';
import { portOf } from '../framework/values/server-address.ts';
import { JsonScanner } from '../openai/json/json-scanner.ts';
import { KV_CONNECTORS, type SidecarOptions } from './options/sidecar-options.ts';

/**
 * A scan of 40 MB of numbers takes seconds. It may stop other requests only where it is cut into
 * pieces, between which the event loop goes on when their slice of time is over.
 */

const PIECE_BYTES = 16 * 1024;
const NUMBERS = `[${'1.5,'.repeat(20_000)}1]`;
const OBJECT = `{"a":${NUMBERS}}`;
const MEDIA = '{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}';
const PART = `{"type":"text","text":"hello","more":${NUMBERS}}`;
const CALLS = `[{"id":"c","function":{"name":"f","arguments":"{}"},"more":${NUMBERS}}]`;
/** Long in every place that the sidecar looks at. */
const CHAT = `{"model":"m","max_tokens":9,"stream_options":${OBJECT},"tool_choice":${OBJECT},
  "messages":[{"role":"user","content":[${PART},${MEDIA}],"name":${OBJECT}},
    {"role":"assistant","content":"${'x'.repeat(40_000)}","tool_calls":${CALLS}},
    {"role":"tool","tool_call_id":"c","content":"hello"}],
  "kv_transfer_params":${OBJECT}}`;
const GENERATE = `{"model":"m","token_ids":${NUMBERS},"sampling_params":{"max_tokens":9,"x":${NUMBERS},
  "extra_args":{"y":${NUMBERS},"kv_transfer_params":${OBJECT}}}}`;

const bed = sidecarBed();
let encoder: ScriptedServer;
let bootstrap: ScriptedServer;
const atEngine: Visit[] = [];
const atPrefiller: Visit[] = [];
/** What the engine answers. */
let said: { readonly type: string; readonly text: string };
const SHORT = {
  prefiller: '{"kv_transfer_params":{"remote_host":"h"}}',
  encoder: '{"ec_transfer_params":{}}',
};
/** What the other servers answer. */
let others = SHORT;
let got = '';

beforeEach(async () => {
  [encoder, bootstrap] = [await startScriptedServer(), await startScriptedServer()];
  bed.stops.push(encoder.stop, bootstrap.stop);
  atEngine.length = 0;
  atPrefiller.length = 0;
  others = SHORT;
  void answerAll(encoder, () => others.encoder);
  void answerAll(bootstrap, () => '{"0":{"engine_id":"e"}}');
  void answerAll(bed.prefiller, () => others.prefiller, atPrefiller);
  said = { type: 'application/json', text: saidBy('length') };
  void answerAll(bed.engine, undefined, atEngine);
});
afterEach(() => void vi.restoreAllMocks());

async function answerAll(server: ScriptedServer, text?: () => string, visits: Visit[] = []) {
  for (;;) {
    const visit = await server.next();
    visits.push(visit);
    const type = text === undefined ? said.type : 'application/json';
    visit.response.setHeader('content-type', type).end(text?.() ?? said.text);
  }
}

/** The longest texts that were scanned at once. */
async function longestScans(
  options: Partial<SidecarOptions>,
  { path, body, headers = {} }: { path: string; body: string; headers?: Record<string, string> },
): Promise<readonly number[]> {
  const ports = {
    mooncakeBootstrapPort: Number(portOf(bootstrap.address)),
    sglangBootstrapPort: Number(portOf(bootstrap.address)),
  };
  const sidecar = await bed.started({ ...ports, ...options });
  const scans = vi.spyOn(JsonScanner.prototype, 'push');
  const answer = await fetch(`http://${sidecar.address}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-prefiller-host-port': bed.prefiller.address,
      'x-encoder-hosts-ports': encoder.address,
      ...headers,
    },
    body,
  });
  got = await answer.text();
  expect([answer.status, got !== '']).toEqual([200, true]);
  return scans.mock.calls.map(([{ length }]) => length).filter((length) => length > PIECE_BYTES);
}

const REQUESTS: readonly (readonly [path: string, body: string])[] = [
  ['/v1/chat/completions', CHAT],
  ['/inference/v1/generate', GENERATE],
];

it.each(
  KV_CONNECTORS.flatMap((connector) =>
    REQUESTS.map(([path, body]) => [connector, path, body] as const),
  ),
)('[V508] no long body is scanned in one go with %s at %s', async (connector, path, body) => {
  expect(await longestScans({ connector }, { path, body })).toEqual([]);
  expect(atEngine.length).toBeGreaterThan(0);
});

it.each([
  ['a threshold of the cache', { connector: 'shared-storage' }, { cache_hit_threshold: 0.5 }],
  ['pieces', { decodeChunkTokens: 4 }, {}],
  ['earlier turns', { earlierTurns: { turnsMax: 9, keepMs: 1_000 } }, {}],
  ['chats computed ahead', { speculativePrefill: true }, {}],
] as const)('[V508] no long body is scanned in one go with %s', async (_, options, more) => {
  const body = CHAT.replace(
    '{',
    `{${JSON.stringify(more).slice(1, -1)}${'cache_hit_threshold' in more ? ',' : ''}`,
  );
  const headers = { 'x-speculative-prefill': 'true' };
  expect(await longestScans(options, { path: '/v1/chat/completions', body, headers })).toEqual([]);
});

it('[V510] a body with more than 1,000 members goes to the engine as it is', async () => {
  const bodyOf = (members: number): string =>
    `{"prompt":"p",${Array.from({ length: members - 1 }, (_, at) => `"a${at}":1`).join()}}`;
  await longestScans({}, { path: '/v1/completions', body: bodyOf(1_000) });
  expect(atPrefiller).toHaveLength(1);
  await longestScans({}, { path: '/v1/completions', body: bodyOf(1_001) });
  expect([atPrefiller.length, atEngine.at(-1)?.body]).toEqual([1, bodyOf(1_001)]);
});

const PROMPT = `"${'x'.repeat(1_000_000)}"`;
const DROPPED = `{"prompt":${PROMPT},"kv_transfer_params":{}}`;
it.each([
  ...KV_CONNECTORS.map((connector) => [connector, { connector }, `{"prompt":${PROMPT}}`] as const),
  ['nixlv2, parameters dropped', {}, DROPPED] as const,
])('[V515] no long body is copied in one go with %s', async (_, options, body) => {
  const { concat } = Buffer;
  const long: number[] = [];
  vi.spyOn(Buffer, 'concat').mockImplementation((pieces, length) => {
    const whole = concat(pieces, length);
    // The servers of this test join what they get, too.
    const isOurs = !new Error().stack?.includes('scripted-server');
    if (isOurs && whole.length > 64 * 1024) long.push(whole.length);
    return whole;
  });
  await longestScans(options, { path: '/v1/completions', body });
  expect(long).toEqual([]);
});

const TOKEN = '{"token":"hello","logprob":-0.125,"top_logprobs":[]}';
const LOGPROBS = `{"content":[${Array(2_000).fill(TOKEN).join()}]}`;
const choice = (part: string): string => `{"${part}":{"content":"a"},"logprobs":${LOGPROBS}}`;
const answered = (part: string): string =>
  `{"choices":[${choice(part)}],"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":9}}}`;
it.each([
  ['whole', 'application/json', answered('message')],
  ['streamed', 'text/event-stream', `data: ${answered('delta')}\n\ndata: [DONE]\n\n`],
] as const)('[V516] no long answer that is %s is scanned in one go', async (_, type, text) => {
  const options = { earlierTurns: { turnsMax: 9, keepMs: 1_000 } };
  const body = '{"messages":[{"role":"user","content":"hello"}]}';
  said = { type, text };
  expect(await longestScans(options, { path: '/v1/chat/completions', body })).toEqual([]);
  expect(got).toBe(text.replace('"cached_tokens":9', '"cached_tokens":0'));
});

it.each([
  ...KV_CONNECTORS.map((connector) => [connector, { connector }] as const),
  ['nixlv2 over MoRI-IO', { moriIo: { ...MORI, atOnce: false } }] as const,
])('[V523] no long answer of another server is scanned in one go with %s', async (_, options) => {
  const [kv, usage, ec] = ['kv_transfer_params', 'usage', 'ec_transfer_params'];
  others = {
    prefiller: `{"more":${NUMBERS},"${kv}":{"remote_host":"h","more":${NUMBERS}},"${usage}":${OBJECT}}`,
    encoder: `{"more":${NUMBERS},"${ec}":{"hash":${OBJECT}}}`,
  };
  const asked = { path: '/v1/chat/completions', body: CHAT };
  expect(await longestScans(options, asked)).toEqual([]);
  expect(encoder.visits).toBe(1);
});
