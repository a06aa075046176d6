import { setLogger } from '@grpc/grpc-js';

/** Printed beside giving it to the caller, who tells of it in a sentence that says what to do. */
const TOLD_ELSEWHERE = /^No address added out of total \d+ resolved$/;

/** Leaves out of what gRPC prints on stderr what is told of by us. */
export function quietGrpc(): void {
  setLogger({
    error: (line: unknown, ...more: readonly unknown[]) => {
      if (typeof line === 'string' && TOLD_ELSEWHERE.test(line)) return;
      console.error(line, ...more);
    },
  });
}
