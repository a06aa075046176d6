/** The longest beginning that a prompt has in common with others. */
export interface SharedBeginning {
  readonly tokens: number;
  /** How many of the others begin with all of it. */
  readonly requests: number;
}
