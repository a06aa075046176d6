const EVENT = Buffer.from('event: ');
/** Types of the Responses API's events that servers send before the engine has begun. */
const ACCEPTING: readonly Buffer[] = ['response.created', 'response.in_progress'].map((type) =>
  Buffer.from(type),
);

/**
 * Whether a chunk at the beginning of an answer only says that the server has accepted the request.
 * The time of its first token is later then.
 */
export function onlyAccepts(chunk: Buffer): boolean {
  // Most chunks begin with another letter: `data:`, or an object.
  if (chunk[0] !== EVENT[0] || !EVENT.equals(chunk.subarray(0, EVENT.length))) return false;
  const type = chunk.lastIndexOf(EVENT) + EVENT.length;
  return ACCEPTING.some((each) => each.equals(chunk.subarray(type, type + each.length)));
}
