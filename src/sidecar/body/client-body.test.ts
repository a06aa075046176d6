import { describe, expect, it } from 'vitest';
import { checkedBody, objectIn, reservedFor } from './client-body.ts';

const RESERVED = reservedFor('nixlv2');
const checked = (text: string): unknown =>
  JSON.parse(checkedBody(Buffer.from(text), RESERVED).toString());

describe('the body of a client', () => {
  it.each([
    ['{"model":"m","kv_transfer_params":{"remote_host":"a"}}', { model: 'm' }],
    ['{"model":"m","ec_transfer_params":{"a":{"peer_host":"a"}}}', { model: 'm' }],
    ['{"kv_transfer_params":1,"model":"m","kv_transfer_params":{}}', { model: 'm' }],
    [String.raw`{"model":"m","kv_transf\u0065r_params":{}}`, { model: 'm' }],
    [
      '{"sampling_params":{"n":1,"extra_args":{"kv_transfer_params":{}}}}',
      { sampling_params: { n: 1, extra_args: {} } },
    ],
    ['{"vllm_xargs":{"kv_transfer_params":{},"a":1}}', { vllm_xargs: { a: 1 } }],
  ])('[V64] loses the parameters that only the sidecar may set: %s', (text, expected) => {
    expect(checked(text)).toEqual(expected);
  });

  it('[V64] stays the same to the byte where there are none', () => {
    const body = Buffer.from('{ "seed": 12345678901234567890, "prompt": "kv_transfer_params" }');
    expect(checkedBody(body, RESERVED)).toBe(body);
  });

  it('[B60] keeps every digit and the order of the rest where it has some', () => {
    const text = '{"seed":12345678901234567890,"kv_transfer_params":{},"b":1.0,"a":1,"a":2e5}';
    const kept = '{"seed":12345678901234567890,"b":1.0,"a":1,"a":2e5}';
    expect(checkedBody(Buffer.from(text), RESERVED).toString()).toBe(kept);
  });

  it('[B62] loses the rooms of SGLang only where its engines read them', () => {
    const body = Buffer.from('{"bootstrap_host":"evil","bootstrap_room":1}');
    expect(checkedBody(body, RESERVED)).toBe(body);
    expect(checkedBody(body, reservedFor('sglang')).toString()).toBe('{}');
  });

  it('[V64] keeps text and tools that only mention them', () => {
    const text =
      '{"messages":[{"content":"kv_transfer_params"}],"tools":[{"kv_transfer_params":1}]}';
    expect(checked(text)).toEqual(JSON.parse(text));
  });

  it.each([
    ['NaN, which Python reads', Buffer.from('{"a":NaN,"kv_transfer_params":{}}')],
    ['UTF-16, which Python reads', Buffer.from('{"kv_transfer_params":{}}', 'utf16le')],
    ['a byte order mark', Buffer.from('\ufeff{"kv_transfer_params":{}}')],
    ['half a text', Buffer.from('{"kv_transfer_params":')],
    ['200 levels', Buffer.from('['.repeat(200) + ']'.repeat(200))],
    ['more arrays than memory should hold', Buffer.from(`[${'[],'.repeat(500_000)}[]]`)],
    ['more names than memory should hold', Buffer.from(`{${'"a":1,'.repeat(500_000)}"a":1}`)],
  ])('[V64] [V493] is refused with 400 where it is %s', (_, body) => {
    expect(() => checkedBody(body, RESERVED)).toThrow(expect.objectContaining({ status: 400 }));
  });
});

describe('the answer of another server', () => {
  it('[V65] counts only as a JSON object within bounds', () => {
    expect(objectIn(Buffer.from('{"a":1}'))).toEqual({ a: 1 });
    for (const text of ['', '[]', '1', 'null', '"a"', '<html>', '{"a":', '['.repeat(1e5)]) {
      expect(objectIn(Buffer.from(text)), text.slice(0, 10)).toBeUndefined();
    }
  });
});
