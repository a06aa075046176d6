/**
 * Who has which id. Clients choose ids, so that several may have the same: each call takes the same
 * time, however many there are.
 */
export class RequestIds<T extends object> {
  /** A set for an id that several have had at once. */
  readonly #holders = new Map<string, T | Set<T>>();

  add(id: string, holder: T): void {
    const known = this.#holders.get(id);
    if (known === undefined) this.#holders.set(id, holder);
    else if (known instanceof Set) known.add(holder);
    else this.#holders.set(id, new Set([known, holder]));
  }

  remove(id: string, holder: T): void {
    const known = this.#holders.get(id);
    if (known instanceof Set) known.delete(holder);
    if (known === holder || (known instanceof Set && known.size === 0)) this.#holders.delete(id);
  }

  /** Undefined where none has the id, or several. */
  onlyOne(id: string): T | undefined {
    const known = this.#holders.get(id);
    if (!(known instanceof Set)) return known;
    const [first] = known;
    return known.size === 1 ? first : undefined;
  }
}
