/** Servers send one or two. */
const INTERIM_MAX = 16;

/** A server has answered what it must not. */
export class BadAnswer extends Error {
  override readonly name = 'BadAnswer';
}

/**
 * To be called with each answer that comes before the final one (1xx). Throws a BadAnswer at one
 * too many, as the time limits wait for the final one, and at a status that is none.
 */
export function interimAnswers(): (answer: { readonly statusCode: number }) => void {
  let count = 0;
  return ({ statusCode }) => {
    if (statusCode < 100) throw new BadAnswer(`answered the status ${statusCode}, which is none`);
    count += 1;
    if (count > INTERIM_MAX)
      throw new BadAnswer(`sent more than ${INTERIM_MAX} interim answers (1xx)`);
  };
}
