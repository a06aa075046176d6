import { RoutingError } from '../../../src/framework/error.ts';
import { isPlainObject, type PlainObject } from '../../../src/framework/values/plain-object.ts';
import { JsonScanner } from '../../../src/openai/json/json-scanner.ts';
import { isJsonObject, reservedFor } from '../../../src/sidecar/body/client-body.ts';
import { ParameterReader } from '../../../src/sidecar/body/parameter-reader.ts';
import { Refusal } from '../../../src/sidecar/body/refusal.ts';
import { expected, type FuzzTarget, promise, utf8 } from '../target.ts';

const RESERVED = reservedFor('sglang');
/** Short, so that each name and value is cut somewhere. */
const PIECE_BYTES = 7;
const NESTED: readonly string[] = ['sampling_params', 'extra_args', 'vllm_xargs'];

/** Whether an engine would read a parameter that only the sidecar may set. */
function setsReserved(body: unknown): boolean {
  if (!isPlainObject(body)) return false;
  return (
    Object.keys(body).some((name) => RESERVED.has(name)) ||
    NESTED.some((name) => setsReserved(body[name]))
  );
}

/** The same without these parameters. */
function without(body: unknown): unknown {
  if (!isPlainObject(body)) return body;
  const kept = Object.entries(body).filter(([name]) => !RESERVED.has(name));
  const entries = kept.map(([name, value]) => [
    name,
    NESTED.includes(name) ? without(value) : value,
  ]);
  return Object.fromEntries(entries) as PlainObject;
}

/** A body for the sidecar: refused, or JSON without what only the sidecar may set. */
export const sidecarBody: FuzzTarget = {
  name: 'sidecar-body',
  seeds: [
    '{"model":"m","kv_transfer_params":{"remote_host":"a"},"prompt":"x"}',
    '{"sampling_params":{"n":1,"extra_args":{"kv_transfer_params":{}}},"bootstrap_room":1}',
    '{"vllm_xargs":{"ec_transfer_params":[1,{"b":"}"}],"a":1e5},"messages":[{"content":"x"}]}',
    String.raw`{"kv_transf\u0065r_params":1 , "a" : null,"bootstrap_host":"h","bootstrap_host":"i"}`,
  ].map(utf8),
  words: ['"kv_transfer_params":', '"extra_args":{', '{', '}', '[', ']', ',', '\\u006b', '"', ':1'],
  run: (input) => {
    const body = Buffer.from(input);
    const reader = new ParameterReader(body, RESERVED);
    const scanner = new JsonScanner(reader);
    try {
      for (let at = 0; at < body.length; at += PIECE_BYTES) {
        scanner.push(body.subarray(at, at + PIECE_BYTES));
      }
      scanner.end();
    } catch (error) {
      promise(!isJsonObject(body), () => 'a whole object is refused');
      return expected(error, RoutingError, Refusal);
    }
    const checked = Buffer.concat(reader.rest());
    const before = JSON.parse(body.toString()) as unknown;
    const after = JSON.parse(checked.toString()) as unknown;
    promise(!setsReserved(after), () => 'a parameter of the sidecar is left');
    const [wanted, got] = [JSON.stringify(without(before)), JSON.stringify(after)];
    promise(got === wanted, () => `${got} in place of ${wanted}`);
    return `${isPlainObject(before)} ${checked.equals(body)}`;
  },
};
