import type { Schema } from '../framework/plugin.ts';
import { sameParameters } from '../picker/plan/same-parameters.ts';

/**
 * Parameters as a file would have them: with nothing left to default, where those that a schema has made of them are ones
 * that it takes; as they were given where it has made something else of them, such as a number of a duration.
 */
export function writtenParameters(
  schema: Schema<unknown>,
  { parsed, given }: { readonly parsed: unknown; readonly given: unknown },
): unknown {
  try {
    const again = schema.parse(JSON.parse(JSON.stringify(parsed)));
    return sameParameters(again, parsed) ? parsed : given;
  } catch {
    return given;
  }
}
