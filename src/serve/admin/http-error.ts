/** Of an HTTP request: what is wrong with it, or what is not there. */
export class HttpError extends Error {
  readonly status: 400 | 404;

  constructor(status: 400 | 404, sentence: string) {
    super(sentence);
    this.name = 'Refusal';
    this.status = status;
  }
}
