/** vLLM's names for HTTP statuses. */
const TYPES: ReadonlyMap<number, string> = new Map([
  [400, 'BadRequestError'],
  [401, 'AuthenticationError'],
  [403, 'PermissionDeniedError'],
  [404, 'NotFoundError'],
  [422, 'UnprocessableEntityError'],
  [429, 'RateLimitError'],
]);

/** What a request is refused with. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly param: string | null;

  constructor(status: number, message: string, param: string | null = null) {
    super(message);
    this.status = status;
    this.param = param;
  }

  /** In OpenAI's shape, as vLLM sends it. */
  get body(): object {
    const type =
      TYPES.get(this.status) ?? (this.status < 500 ? 'BadRequestError' : 'InternalServerError');
    const { message, param, status } = this;
    return { error: { message, type, param, code: status } };
  }
}
