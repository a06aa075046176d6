import { describe, expect, it, vi } from 'vitest';
import { JsonScanner } from '../../openai/json/json-scanner.ts';
import { TimeSlices } from '../../runtime/clock/time-slices.ts';
import { checkedBody, objectIn, reservedFor } from './client-body.ts';
import { TurnsReader } from './read-in-turns.ts';

const RESERVED = reservedFor('nixlv2');
const afterCheck = async (body: Buffer, reserved = RESERVED): Promise<Buffer> =>
  (await checkedBody(body, reserved, new TurnsReader())).bytes;
const checkedText = async (text: string): Promise<string> =>
  (await afterCheck(Buffer.from(text))).toString();
const checked = async (text: string): Promise<unknown> => JSON.parse(await checkedText(text));

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
    ['[{"kv_transfer_params":1}]', [{ kv_transfer_params: 1 }]],
  ])('[V64] loses the parameters that only the sidecar may set: %s', async (text, expected) => {
    expect(await checked(text)).toEqual(expected);
  });

  it('[V64] stays the same to the byte where there are none', async () => {
    const body = Buffer.from('{ "seed": 12345678901234567890, "prompt": "kv_transfer_params" }');
    expect(await afterCheck(body)).toBe(body);
  });

  it('[B60] keeps every digit and the order of the rest where it has some', async () => {
    const text = '{"seed":12345678901234567890,"kv_transfer_params":{},"b":1.0,"a":1,"a":2e5}';
    const kept = '{"seed":12345678901234567890,"b":1.0,"a":1,"a":2e5}';
    expect(await checkedText(text)).toBe(kept);
  });

  it.each([
    ['{ "kv_transfer_params" : 1 , "a" : 2 }', '{ "a" : 2 }'],
    ['{ "a" : 1 , "kv_transfer_params" : 2 }', '{ "a" : 1 }'],
    ['{"a":1 , "kv_transfer_params":[{}] ,"ec_transfer_params":"x", "b":2}', '{"a":1, "b":2}'],
    ['{ "kv_transfer_params":{"a":1},"ec_transfer_params":null }', '{ }'],
    [
      '{"extra_args":{"kv_transfer_params":1},"extra_args":{"a":[1],"kv_transfer_params":2}}',
      '{"extra_args":{},"extra_args":{"a":[1]}}',
    ],
  ])('[B60] keeps the bytes around those that it drops: %s', async (text, kept) => {
    expect(await checkedText(text)).toBe(kept);
  });

  it('[B62] loses the rooms of SGLang only where its engines read them', async () => {
    const body = Buffer.from('{"bootstrap_host":"evil","bootstrap_room":1}');
    expect(await afterCheck(body)).toBe(body);
    expect((await afterCheck(body, reservedFor('sglang'))).toString()).toBe('{}');
  });

  it('[V64] keeps text and tools that only mention them', async () => {
    const text =
      '{"messages":[{"content":"kv_transfer_params"}],"tools":[{"kv_transfer_params":1}]}';
    expect(await checked(text)).toEqual(JSON.parse(text));
  });

  it.each([
    ['NaN, which Python reads', Buffer.from('{"a":NaN,"kv_transfer_params":{}}')],
    ['UTF-16, which Python reads', Buffer.from('{"kv_transfer_params":{}}', 'utf16le')],
    ['a byte order mark', Buffer.from('\ufeff{"kv_transfer_params":{}}')],
    ['half a text', Buffer.from('{"kv_transfer_params":')],
    ['200 levels', Buffer.from('['.repeat(200) + ']'.repeat(200))],
    ['more arrays than memory should hold', Buffer.from(`[${'[],'.repeat(500_000)}[]]`)],
    ['more names than memory should hold', Buffer.from(`{${'"a":1,'.repeat(500_000)}"a":1}`)],
  ])('[V64] [V493] is refused with 400 where it is %s', async (_, body) => {
    await expect(afterCheck(body)).rejects.toThrow(expect.objectContaining({ status: 400 }));
  });
});

describe('the check of a long body', () => {
  /** A body of so many pieces of 16 KiB. */
  const body = (pieces: number): Buffer =>
    Buffer.from(`{"prompt":[${'1,'.repeat(pieces * 8 * 1024 - 10)}1]}`);

  it('[V494] lets other events through between its slices', async () => {
    const order: string[] = [];
    const others = async (): Promise<void> => {
      for (let turn = 0; turn < 8; turn++) {
        await new Promise(setImmediate);
        order.push('other event');
      }
    };
    const inTurns = new TurnsReader(undefined, new TimeSlices(0));
    const check = checkedBody(body(10), RESERVED, inTurns);
    await Promise.all([check.then(() => order.push('checked')), others()]);
    expect(order.indexOf('checked')).toBe(8);
  });

  it('[V494] ends between its slices when the client has gone', async () => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const check = checkedBody(body(10), RESERVED, new TurnsReader(signal, new TimeSlices(0)));
    leaving.abort(new Error('gone'));
    await expect(check).rejects.toThrow('gone');
  });

  it('[V494] takes one pass, however deep the parameters are that it drops', async () => {
    const deep = '{"sampling_params":'.repeat(100);
    const text = `{"kv_transfer_params":1,"vllm_xargs":${deep}[1.5]${'}'.repeat(101)}`;
    const body = Buffer.from(text);
    const scans = vi.spyOn(JsonScanner.prototype, 'push');
    const rest = (await afterCheck(body)).toString();
    const bytes = scans.mock.calls.reduce((sum, [{ length }]) => sum + length, 0);
    scans.mockRestore();
    expect(bytes).toBe(text.length);
    expect(rest).toBe(text.replace('"kv_transfer_params":1,', ''));
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
