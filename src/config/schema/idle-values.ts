import { isPlainObject } from '../../framework/values/plain-object.ts';
import type { ConfigNote } from '../../picker/plan/config-note.ts';
import { WITHOUT_PARAMETERS } from '../reference/reference-table.ts';

/**
 * A configuration without `parameters` that are no map, where the reference does not look at the
 * parameters of that type: texts and numbers are accepted there, too.
 */
export function withoutIdleValues(config: unknown): {
  readonly value: unknown;
  readonly notes: readonly ConfigNote[];
} {
  const notes: ConfigNote[] = [];
  if (!isPlainObject(config) || !Array.isArray(config['plugins'])) return { value: config, notes };
  const plugins = config['plugins'].map((entry: unknown, index) => {
    if (!isPlainObject(entry)) return entry;
    const { type, parameters } = entry;
    const isIdle = typeof type === 'string' && WITHOUT_PARAMETERS.has(type);
    if (!isIdle || isPlainObject(parameters) || (parameters ?? undefined) === undefined)
      return entry;
    const path = `plugins[${index}].parameters`;
    const text = `${path} has no effect: ${type} has no parameters; leave it out`;
    notes.push({ path, reason: 'no-such-parameter', text });
    return { ...entry, parameters: undefined };
  });
  return { value: { ...config, plugins }, notes };
}
