import type { WholeResult } from '../run-summary/run-result.ts';

/** Has the results of a simulation, by the order of arrival. */
export interface ResultKeeper {
  /** The result of a request is kept as it arrives and, changed, as it ends. */
  readonly keep: (number: number, result: WholeResult) => void;
}

/** Keeps all that the trace says of each request, too. */
export class WholeResults implements ResultKeeper {
  readonly all: WholeResult[] = [];

  keep(number: number, result: WholeResult): void {
    this.all[number] = result;
  }
}
