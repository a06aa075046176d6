import fc from 'fast-check';
import { expect, it } from 'vitest';
import { memberOf, withMembers } from '../../openai/json/json-members.ts';
import { checkedBody } from './client-body.ts';
import { apiOf, cappedToOneToken, type GenerationApi, withTransfer } from './generation-api.ts';
import { TurnsReader } from './read-in-turns.ts';

const RESERVED = new Set(['kv_transfer_params', 'ec_transfer_params']);
const TRANSFER = { kv_transfer_params: '{"remote_host":"h"}', ec_transfer_params: '7' };
const NOTHING = Buffer.from('{}');
const PATHS = ['/v1/chat/completions', '/v1/responses', '/inference/v1/generate', '/generate'];

/** As `cappedToOneToken` and `withTransfer`, by reading the whole text for each edit. */
function readAnew(text: Buffer, { caps, nested, stores }: GenerationApi) {
  const at = (object: Buffer, name: string): Buffer => {
    const found = memberOf(object, name);
    return found?.[0] === 0x7b ? found : NOTHING;
  };
  const withExtra = (sampling: Buffer): Buffer => {
    const extra_args = withMembers(at(sampling, 'extra_args'), TRANSFER);
    return withMembers(sampling, { extra_args });
  };
  const limits = { ...Object.fromEntries(caps.map((cap) => [cap, '1'])), min_tokens: undefined };
  const store = stores ? { store: 'false' } : {};
  const whole = { stream: 'false', stream_options: undefined, ...store, ...TRANSFER };
  if (!nested) {
    const capped = withMembers(text, { ...whole, ...limits });
    return { capped, transferred: withMembers(text, TRANSFER) };
  }
  const sampling = at(text, 'sampling_params');
  const limited = withExtra(withMembers(sampling, limits));
  return {
    capped: withMembers(text, { ...whole, sampling_params: limited }),
    transferred: withMembers(text, { ...TRANSFER, sampling_params: withExtra(sampling) }),
  };
}

/** Objects with the names that count, at any depth and more than once, and any white space. */
const { body } = fc.letrec<{ value: string; object: string; body: string }>((tie) => {
  const space = fc.constantFrom('', '', ' ', '\n ', '\t');
  const name = fc
    .constantFrom(
      'sampling_params',
      'extra_args',
      'vllm_xargs',
      'stream_options',
      'stream',
      'max_tokens',
      'min_tokens',
      'kv_transfer_params',
      'ec_transfer_params',
      String.raw`kv_transf\u0065r_params`,
      String.raw`sampling\u005fparams`,
      String.raw`\\\"`,
      'ü',
      '',
    )
    .map((each) => `"${each}"`);
  const leaf = fc.constantFrom(
    '1.0',
    '-0',
    '12',
    '1e400',
    'true',
    'null',
    '""',
    '"a\\\\"',
    '"ü\\""',
  );
  const array = fc.array(tie('value'), { maxLength: 3 }).map((all) => `[ ${all.join(' ,')}]`);
  const member = fc
    .tuple(space, name, space, space, tie('value'), space)
    .map(([a, key, b, c, value, d]) => `${a}${key}${b}:${c}${value}${d}`);
  return {
    value: fc.oneof({ maxDepth: 4 }, leaf, array, tie('object')),
    object: fc
      .tuple(fc.array(member, { maxLength: 6 }), space)
      .map(([all, end]) => `{${all.join(',')}${end}}`),
    body: fc.tuple(space, tie('object'), space).map((all) => all.join('')),
  };
});

it('[V509] edits of a checked body are, to the byte, those of a text that is read for each (random, seed 509)', async () => {
  await fc.assert(
    fc.asyncProperty(body, fc.constantFrom(...PATHS), async (text, path) => {
      const api = apiOf(path) as GenerationApi;
      const { bytes, object } = await checkedBody(Buffer.from(text), RESERVED, new TurnsReader());
      const expected = readAnew(bytes, api);
      expect(object?.bytes).toBe(bytes);
      if (object === undefined) return;
      expect(cappedToOneToken(object, api, TRANSFER).bytes.toString()).toBe(
        expected.capped.toString(),
      );
      expect(withTransfer(object, api, TRANSFER).bytes.toString()).toBe(
        expected.transferred.toString(),
      );
      for (const name of ['stream', 'sampling_params', 'extra_args', 'ü', '\\"']) {
        expect(object.member(name)?.toString()).toBe(memberOf(bytes, name)?.toString());
      }
    }),
    { seed: 509, numRuns: 2_000 },
  );
});
