/**
 * The server answered with another status than one of success. `body` is the beginning of its
 * answer.
 */
export class ApiStatusError extends Error {
  override readonly name = 'ApiStatus';
  readonly statusCode: number;
  readonly body: string;

  constructor(statusCode: number, body: string) {
    super(`status ${statusCode}`);
    this.statusCode = statusCode;
    this.body = body;
  }
}

/** The server answered with something that is not what was asked for; the message names it. */
export class ApiContentError extends Error {
  override readonly name = 'ApiContent';
}

/** A request to the API server, as error messages describe it. */
export interface ApiRequest {
  readonly verb: 'list' | 'watch';
  /** Such as `pods in namespace default`. */
  readonly what: string;
  readonly server: string;
  /** Set for nodes: they are in no namespace, so a Role cannot allow access to them. */
  readonly clusterWide?: boolean;
}

/** One sentence that says why a request failed, and what to do. `code` is the HTTP status. */
export function explainApiError(
  error: unknown,
  { verb, what, server, clusterWide }: ApiRequest,
  code: number | undefined = apiStatusOf(error),
): string {
  if (error instanceof ApiContentError) {
    return `the API server ${server} sent ${error.message} where it was asked to ${verb} ${what}: check that --kubeconfig names an API server, and what is between; the picker tries again`;
  }
  switch (code) {
    case 401:
      return `the API server ${server} does not accept the picker’s credentials: renew its token, or give --kubeconfig with valid ones`;
    case 403: {
      const role = clusterWide === true ? 'a ClusterRole and ClusterRoleBinding' : 'a Role';
      return `not allowed to ${verb} ${what}: give the picker’s service account ${role} with list and watch on it`;
    }
    case 404:
      return `the API server does not know ${what}: install the Gateway API inference extension’s CRDs, or set --pool-group to the installed group`;
    case 410:
      return `the API server no longer has the watched version of ${what}; it is listed again`;
    case 429:
      return `the API server is too busy to ${verb} ${what}; the picker tries again later`;
    case undefined:
      return `cannot reach the API server ${server} to ${verb} ${what} (${apiMessageOf(error)}): check that it runs, that --kubeconfig names it, and that network policies let the picker through`;
    default:
      return `the API server cannot ${verb} ${what} (${apiMessageOf(error)}): see its log; the picker tries again`;
  }
}

/** The HTTP status that the server answered; undefined where it did not answer. */
export function apiStatusOf(error: unknown): number | undefined {
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown };
  const found = typeof code === 'number' ? code : statusCode;
  return typeof found === 'number' ? found : undefined;
}

const MESSAGE_CHARS_MAX = 300;

/** The error in one line, with the cause that libraries hide. */
export function apiMessageOf(error: unknown): string {
  if (error === undefined || error === null) return 'the server closed the watch';
  if (!(error instanceof Error)) return oneLine(JSON.stringify(error));
  const { cause, body } = error as { cause?: { message?: string; code?: string }; body?: unknown };
  const answer = messageIn(body);
  if (answer !== undefined) return oneLine(answer);
  const why = [cause?.message, cause?.code].find((text) => text !== undefined && text !== '');
  return oneLine(why === undefined ? error.message : `${error.message}: ${why}`);
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= MESSAGE_CHARS_MAX ? line : `${line.slice(0, MESSAGE_CHARS_MAX)}…`;
}

function messageIn(body: unknown): string | undefined {
  try {
    const status: unknown = typeof body === 'string' ? JSON.parse(body) : body;
    const { message } = (status ?? {}) as { message?: unknown };
    return typeof message === 'string' ? message : undefined;
  } catch {
    return undefined;
  }
}
