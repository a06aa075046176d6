const PLACES_AT_FIRST = 1024;

/** Keys of beginnings of prompts. A Set holds 16 million at most: a trace may have more. */
export class PrefixSet {
  /** Each key and one, so that 0 is a free place. At most half of the places are taken. */
  #places = new Float64Array(PLACES_AT_FIRST);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Takes a whole number from 0 to 2⁵³ - 2. Returns whether it is new. */
  add(key: number): boolean {
    const place = placeOf(this.#places, key + 1);
    if (this.#places[place] !== 0) return false;
    this.#places[place] = key + 1;
    this.#size += 1;
    if (2 * this.#size > this.#places.length) this.#grow();
    return true;
  }

  #grow(): void {
    const places = new Float64Array(2 * this.#places.length);
    for (const each of this.#places) if (each !== 0) places[placeOf(places, each)] = each;
    this.#places = places;
  }
}

/** Where the value is, or is to be. The number of places is a power of two. */
function placeOf(places: Float64Array, value: number): number {
  let place = value % places.length;
  while (places[place] !== 0 && places[place] !== value) place = (place + 1) & (places.length - 1);
  return place;
}
