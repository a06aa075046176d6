import { RoutingError } from '../../../src/framework/error.ts';
import { editBody } from '../../../src/openai/body/body-edit.ts';
import { CONTROL_FIELDS } from '../../../src/openai/body/control-fields.ts';
import { createOpenBody } from '../../../src/openai/parsers/open-body.ts';
import { expected, type FuzzTarget, promise, utf8 } from '../target.ts';

const PATH = '/v1/chat/completions';
const openBody = createOpenBody({
  bodyBytesMax: 1_000_000,
  hashSeed: 7,
  rewriteOf: () => ({ rule: 'r', model: 'served' }),
  onIgnored: () => undefined,
});
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

type Json = Record<string, unknown>;

function parsed(body: Uint8Array): Json | undefined {
  try {
    return JSON.parse(decoder.decode(body)) as Json;
  } catch {
    return undefined;
  }
}

/** The body that an engine gets: its model is the rule's, and its control fields are null. */
export const controlBody: FuzzTarget = {
  name: 'control-body',
  seeds: [
    '{"kv_transfer_params":{"a":[1,{"b":"}"}]},"model":"m","messages":[{"role":"user","content":"x"}]}',
    '{"messages":[{"kv_transfer_params":1}],"ec_transfer_params" : null ,"model":"a","model":"b"}',
    '{"messages":[1],"vllm_xargs":{"kv_transfer_params":"x"},"bootstrap_room":-1e3,"bootstrap_host":true}',
  ].map(utf8),
  words: ['"model":', '"kv_transfer_params":', '{', '}', '[', ']', ',', '\\u006b', '"', ':null'],
  run: (input) => {
    const step = 1 + (input.length % 13);
    const reader = openBody({ id: 'r', path: PATH, headers: new Map() });
    try {
      for (let at = 0; at < input.length; at += step) reader.push(input.subarray(at, at + step));
      reader.end();
    } catch (error) {
      return expected(error, RoutingError);
    }
    const before = parsed(input);
    // Bytes that are no UTF-8 are left to the engine.
    if (before === undefined) return 'accepted without JSON.parse';
    const after = parsed(Buffer.concat(editBody(reader.edit, [Buffer.from(input)])));
    if (after === undefined) throw new Error('broken promise: the edited body is no JSON');
    promise(after['model'] === 'served', () => `the model is ${String(after['model'])}`);
    for (const field of CONTROL_FIELDS) {
      promise((after[field] ?? null) === null, () => `${field} is left`);
    }
    const others = (body: Json): string =>
      JSON.stringify(
        Object.entries(body).filter(
          ([name]) => !['model', 'vllm_xargs', 'sampling_params', ...CONTROL_FIELDS].includes(name),
        ),
      );
    promise(others(after) === others(before), () => 'another field has changed');
    return `${reader.edit?.length ?? 0} replaced`;
  },
};
