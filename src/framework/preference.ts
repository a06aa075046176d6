/** `Prefer` with this asks for an endpoint that holds the prompt, and for no other. */
export const IF_AVAILABLE = 'if-available';
/** `Prefer` with this asks which endpoint a request would go to, and for nothing else. */
export const RESERVE_ENDPOINT = 'reserve-endpoint';

/**
 * Whether `Prefer` has this preference. By RFC 7240: preferences stand between commas, their
 * parameters behind semicolons, and a value behind an equals sign.
 */
export function hasPreference(headers: ReadonlyMap<string, string>, preference: string): boolean {
  const prefer = headers.get('prefer');
  if (prefer === undefined) return false;
  return prefer
    .split(',')
    .some((each) => each.split(/[;=]/, 1)[0]?.trim().toLowerCase() === preference);
}
