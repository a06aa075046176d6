/** Numbers texts from 0 in the order in which they first occur, and gives them back. */
export class TextNumbers {
  readonly #numbers = new Map<string, number>();
  readonly #texts: string[] = [];

  numberOf(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const number = this.#texts.length;
    this.#numbers.set(text, number);
    this.#texts.push(text);
    return number;
  }

  textOf(number: number): string {
    return this.#texts[number] ?? '';
  }
}
