import type { JsonObject } from '../../../src/openai/json/json-object.ts';
import { JsonScanner } from '../../../src/openai/json/json-scanner.ts';
import { ParameterReader } from '../../../src/sidecar/body/parameter-reader.ts';

/** A JSON object as the sidecar has it after its check, with nothing dropped. */
export function checkedObject(text: string): JsonObject {
  const bytes = Buffer.from(text);
  const reader = new ParameterReader(bytes, new Set());
  const scanner = new JsonScanner(reader);
  scanner.push(bytes);
  scanner.end();
  const object = reader.objectIn(bytes);
  if (object === undefined) throw new Error(`no object: ${text}`);
  return object;
}
