/**
 * A binary heap whose elements can be taken out and moved: all changes take logarithmic time. What
 * `before` reads of an element may change only right before `update` is called with it.
 */
export class IndexedHeap<T> {
  readonly #before: (a: T, b: T) => boolean;
  readonly #elements: T[] = [];
  readonly #places = new Map<T, number>();

  /** `before` must order any two elements. */
  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#elements.length;
  }

  /** The element that comes before all others. */
  get first(): T | undefined {
    return this.#elements[0];
  }

  has(element: T): boolean {
    return this.#places.has(element);
  }

  /** Adds the element, or puts it where it belongs now. */
  update(element: T): void {
    const place = this.#places.get(element) ?? this.#elements.length;
    this.#put(element, place);
    this.#down(element, this.#up(element, place));
  }

  /** Whether it was there. */
  delete(element: T): boolean {
    const place = this.#places.get(element);
    if (place === undefined) return false;
    this.#places.delete(element);
    const last = this.#elements.pop() as T;
    if (last !== element) {
      this.#put(last, place);
      this.#down(last, this.#up(last, place));
    }
    return true;
  }

  /** To be called after the order of many elements has changed: linear time. */
  rebuild(): void {
    for (let place = (this.#elements.length >> 1) - 1; place >= 0; place--) {
      this.#down(this.#elements[place] as T, place);
    }
  }

  #put(element: T, place: number): void {
    this.#elements[place] = element;
    this.#places.set(element, place);
  }

  #up(element: T, from: number): number {
    let place = from;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = this.#elements[above] as T;
      if (!this.#before(element, parent)) break;
      this.#put(parent, place);
      place = above;
    }
    this.#put(element, place);
    return place;
  }

  #down(element: T, from: number): void {
    let place = from;
    for (;;) {
      let below = 2 * place + 1;
      if (below >= this.#elements.length) break;
      const right = below + 1;
      const rightFirst =
        right < this.#elements.length &&
        this.#before(this.#elements[right] as T, this.#elements[below] as T);
      if (rightFirst) below = right;
      const child = this.#elements[below] as T;
      if (!this.#before(child, element)) break;
      this.#put(child, place);
      place = below;
    }
    this.#put(element, place);
  }
}
