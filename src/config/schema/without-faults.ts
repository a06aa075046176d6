import type { z } from 'zod';

/** Errors in these would make others, about references to what has been left out. */
const NAMED_PARTS: ReadonlySet<PropertyKey> = new Set(['plugins', 'schedulingProfiles']);

/**
 * A copy of a configuration without what its schema refuses, so that errors of meaning are found in
 * the same go: without unknown fields, and without sections that have any other error. Errors in
 * plugins and profiles stay.
 */
export function withoutFaults(
  value: Readonly<Record<string, unknown>>,
  { issues }: z.ZodError,
): Readonly<Record<string, unknown>> {
  const rest: Record<PropertyKey, unknown> = structuredClone(value);
  for (const issue of issues) {
    const [section = ''] = issue.path;
    if (issue.code === 'unrecognized_keys') remove(rest, issue.path, issue.keys);
    else if (!NAMED_PARTS.has(section)) delete rest[section];
  }
  return rest;
}

function remove(from: unknown, path: readonly PropertyKey[], keys: readonly string[]): void {
  let at = from;
  for (const key of path) at = (at as Record<PropertyKey, unknown> | undefined)?.[key];
  for (const key of keys) delete (at as Record<string, unknown> | undefined)?.[key];
}
