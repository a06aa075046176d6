import { describe, expect, it } from 'vitest';
import type { InferenceRequest } from '../../framework/request.ts';
import { KeyedHash } from '../../framework/values/keyed-hash.ts';
import { JsonScanner } from '../json/json-scanner.ts';
import { createOpenBody, headerOnlyRequest } from '../parsers/open-body.ts';
import { selectReading } from '../parsers/select-reading.ts';
import { editBody } from './body-edit.ts';
import { BodyFields } from './body-fields.ts';

const CHAT = '/v1/chat/completions';

function read(
  body: object,
  {
    path = CHAT,
    headers = {},
    hashSeed = 7,
  }: {
    readonly path?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly hashSeed?: number;
  } = {},
): InferenceRequest {
  const open = createOpenBody({ bodyBytesMax: 1_000_000, hashSeed });
  const reader = open({ id: 'r', path, headers: new Map(Object.entries(headers)) });
  reader.push(Buffer.from(JSON.stringify(body)));
  return reader.end();
}

describe('a hostile body', () => {
  it('[V50] cannot have the blocks of another prompt, whatever the secret is', () => {
    // The difference that made the former hash collide for half of all seeds.
    const ids = Array.from({ length: 64 }, (_, at) => 1000 + at);
    const [a = 0, , c = 0, d = 0] = ids;
    const other = [(a ^ (1 << 31)) >>> 0, ids[1], c ^ (1 << 12), d ^ (1 << 12), ...ids.slice(4)];
    for (let hashSeed = 0; hashSeed < 200; hashSeed++) {
      const options = { path: '/inference/v1/generate', hashSeed };
      const { count, words } = read({ token_ids: ids }, options).prompt;
      expect(count).toBe(1);
      expect(read({ token_ids: other }, options).prompt.words).not.toEqual(words);
    }
  });

  it('[V52] leaves no trace of fields that are not read', () => {
    const shape = selectReading()(CHAT)?.shape;
    if (shape === undefined) throw new Error(`no shape for ${CHAT}`);
    const fields = new BodyFields(shape, new KeyedHash(1));
    const scanner = new JsonScanner(fields);
    const many = Array.from({ length: 5000 }, (_, at) => `"f${at}":${at},"l${at}":["x",{}]`);
    const bias = Array.from({ length: 5000 }, (_, at) => `"${at}":1`).join();
    const known = '"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":3';
    scanner.push(Buffer.from(`{${many.join()},"logit_bias":{${bias}},${known}}`));
    scanner.end();
    expect([...fields.types.keys()].sort()).toEqual(['max_tokens', 'messages', 'model']);
    expect([...fields.values.keys()].sort()).toEqual(['max_tokens', 'model']);
    expect([...fields.empty]).toEqual([]);
  });

  it('[V51] gives long ids short names, with a body that is read, one that is not, and none', () => {
    const headers = {
      'x-gateway-inference-fairness-id': 'f'.repeat(50_000),
      'x-llm-d-inference-objective': `o${'b'.repeat(50_000)}`,
    };
    const body = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
    const head = { id: 'r', path: '/', headers: new Map(Object.entries(headers)) };
    const requests = [
      read(body, { headers }),
      read(body, { headers, path: '/v1/files' }),
      headerOnlyRequest(head),
    ];
    for (const { fairnessId, objective } of requests) {
      expect(fairnessId).toMatch(/^f{64}…[0-9a-f]{16}$/);
      expect(objective).toMatch(/^ob{63}…[0-9a-f]{16}$/);
    }
  });

  it('[V51] with a model name of more than 512 bytes is refused', () => {
    const body = { messages: [{ role: 'user', content: 'hi' }] };
    const longest = 'm'.repeat(512);
    expect(read({ ...body, model: longest }).model).toBe(longest);
    expect(() => read({ ...body, model: `${longest}m` })).toThrow('up to 512 bytes');
  });

  describe('with controls that operators have', () => {
    const messages = [{ role: 'user', content: 'hi', kv_transfer_params: 'text' }];
    const ignored: string[] = [];
    const untrusting = createOpenBody({
      bodyBytesMax: 1_000_000,
      hashSeed: 7,
      rewriteOf: (model) => (model === 'chat' ? { rule: 'r', model: 'chat-v2' } : undefined),
      onIgnored: (control) => ignored.push(control),
    });
    const send = (
      text: string,
      { headers = {}, path = CHAT }: { headers?: Record<string, string>; path?: string } = {},
    ) => {
      ignored.length = 0;
      const reader = untrusting({ id: 'r', path, headers: new Map(Object.entries(headers)) });
      for (let at = 0; at < text.length; at += 5) reader.push(Buffer.from(text.slice(at, at + 5)));
      const request = reader.end();
      const sent = Buffer.concat(editBody(reader.edit, [Buffer.from(text)])).toString();
      return { request, sent, ignored: [...ignored] };
    };

    it('[V56] cannot choose another model by a header, in either spelling', () => {
      for (const name of ['x-gateway-model-name-rewrite', 'x-llm-d-model-name-rewrite']) {
        const headers = { [name]: 'secret-model', 'x-other': 'kept' };
        const text = JSON.stringify({ model: 'public', messages });
        const read = send(text, { headers });
        expect(read).toMatchObject({ sent: text, ignored: [name], request: { model: 'public' } });
        expect([...read.request.headers]).toEqual([['x-other', 'kept']]);
      }
    });

    it('[V56] cannot choose by a header that the challenger decides it', () => {
      const headers = { 'x-pointsman-canary': 'challenger', 'x-other': 'kept' };
      const read = send(JSON.stringify({ model: 'public', messages }), { headers });
      expect(read.ignored).toEqual(['x-pointsman-canary']);
      expect([...read.request.headers]).toEqual([['x-other', 'kept']]);
    });

    it('[V55] cannot avoid a rewrite by another spelling of the path', () => {
      const text = JSON.stringify({ model: 'chat', messages });
      for (const path of ['/v1/chat%2fcompletions', '/v1//chat/completions/', `${CHAT}%0a?a=1`]) {
        expect(send(text, { path }).sent).toBe(text.replace('"chat"', '"chat-v2"'));
      }
    });

    it('[V57] loses transfer parameters wherever an engine reads them, and nothing else', () => {
      const text = `{"kv_transfer_params" : {"remote_host":"a","x":[{}]} ,"model":"chat",
        "ec_tr\\u0061nsfer_params":[1] ,"bootstrap_room":7,"bootstrap_host":"h"
        ,"vllm_xargs":{"kv_transfer_params":["a"],"k":1},
        "sampling_params":{"extra_args":{"kv_transfer_params":{"a":{}}}},
        "response_format":{"json_schema":{"schema":{"bootstrap_host":{"type":"string"}}}},
        "messages":${JSON.stringify(messages)},"kv_transfer_params":true}`;
      const read = send(text);
      const before = JSON.parse(text) as Record<string, unknown>;
      expect(JSON.parse(read.sent)).toEqual({
        ...before,
        model: 'chat-v2',
        kv_transfer_params: null,
        ec_transfer_params: null,
        bootstrap_room: null,
        bootstrap_host: null,
        vllm_xargs: { kv_transfer_params: null, k: 1 },
        sampling_params: { extra_args: { kv_transfer_params: null } },
      });
      expect(read.ignored).toHaveLength(7);
      // The same fields of a client that is trusted stay.
      const trusting = createOpenBody({ bodyBytesMax: 10_000, hashSeed: 7 });
      const reader = trusting({ id: 'r', path: CHAT, headers: new Map() });
      reader.push(Buffer.from(text));
      reader.end();
      expect(reader.edit).toBeUndefined();
    });

    it('[V57] with more of them than can be replaced is refused', () => {
      const text = `{"model":"m"${',"kv_transfer_params":{}'.repeat(17)},"messages":[{}]}`;
      expect(() => send(text)).toThrow('field "kv_transfer_params"');
    });
  });
});
