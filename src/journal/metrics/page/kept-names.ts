/**
 * Names that have label values of their own whatever other names there are: those of the models in
 * rules, which the operator chose, so that names that clients invent do not displace them.
 */
export class KeptNames {
  #names: () => ReadonlySet<string> = () => NONE;

  /** `names` is called for each name that is not known otherwise. */
  follow(names: () => ReadonlySet<string>): void {
    this.#names = names;
  }

  has(name: string): boolean {
    return this.#names().has(name);
  }
}

const NONE: ReadonlySet<string> = new Set();
