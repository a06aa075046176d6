/** What has an id and a place in a list of those whose ids are alike. */
export interface Identified<T> {
  readonly clientRequestId: string | undefined;
  nextAlike: T | undefined;
  previousAlike: T | undefined;
}

/** With 10,000 streams at once a list has two or three of them. */
const LISTS = 4096;
/** So many characters of an id count, the last ones: in a UUID they are random. */
const HASHED = 8;

/**
 * The stream of each id. Clients choose ids, so that several may have the same. It is no Map: with
 * thousands of streams a second that open and end, a Map makes tables without end, which keep what
 * was in them until the next full collection; requests took a quarter more CPU and 58 MB more.
 */
export class RequestIds<T extends Identified<T>> {
  readonly #first: (T | undefined)[] = Array.from({ length: LISTS }, () => undefined);

  /** Its id must not change until it is removed. */
  add(holder: T): void {
    const list = listOf(holder.clientRequestId);
    const next = this.#first[list];
    holder.nextAlike = next;
    if (next !== undefined) next.previousAlike = holder;
    this.#first[list] = holder;
  }

  remove(holder: T): void {
    const { nextAlike, previousAlike } = holder;
    if (nextAlike !== undefined) nextAlike.previousAlike = previousAlike;
    if (previousAlike !== undefined) previousAlike.nextAlike = nextAlike;
    else this.#first[listOf(holder.clientRequestId)] = nextAlike;
    holder.nextAlike = undefined;
    holder.previousAlike = undefined;
  }

  /** Undefined where none has the id, or several. */
  onlyOne(id: string): T | undefined {
    let found: T | undefined;
    for (let each = this.#first[listOf(id)]; each !== undefined; each = each.nextAlike) {
      if (each.clientRequestId !== id) continue;
      if (found !== undefined) return undefined;
      found = each;
    }
    return found;
  }
}

function listOf(id = ''): number {
  let hash = 0;
  for (let at = Math.max(0, id.length - HASHED); at < id.length; at++)
    hash = (Math.imul(hash, 31) + id.charCodeAt(at)) | 0;
  return hash & (LISTS - 1);
}
