/** What was asked of the API server, for people. */
export interface Asked {
  readonly verb: 'list' | 'watch';
  /** Such as `pods in namespace default`. */
  readonly what: string;
  /** The server's URL. */
  readonly server: string;
  /** Nodes are in no namespace: a Role cannot allow them. */
  readonly clusterWide?: boolean;
}

/** What to do about a refusal or a failure, in one sentence. */
export function sentenceOf(
  error: unknown,
  { verb, what, server, clusterWide }: Asked,
  code: number | undefined = codeOf(error),
): string {
  switch (code) {
    case 401:
      return `the API server ${server} does not accept the picker’s credentials: renew its token, or give --kubeconfig with valid ones`;
    case 403: {
      const role = clusterWide === true ? 'a ClusterRole and ClusterRoleBinding' : 'a Role';
      return `not allowed to ${verb} ${what}: give the picker’s service account ${role} with list and watch on it`;
    }
    case 404:
      return `the API server does not know ${what}: install the Gateway API inference extension’s CRDs, or give --pool-group the group that is installed`;
    case 410:
      return `the API server has forgotten the version of ${what} that was watched; listed anew`;
    case 429:
      return `the API server is too busy to ${verb} ${what}; asked again later`;
    case undefined:
      return `cannot reach the API server ${server} to ${verb} ${what} (${messageOf(error)}): check that it runs, that --kubeconfig names it, and that network policies let the picker through`;
    default:
      return `the API server cannot ${verb} ${what} (${messageOf(error)}): see its own log; asked again`;
  }
}

/** The HTTP status of an answer; undefined where there was none. */
export function codeOf(error: unknown): number | undefined {
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown };
  const found = typeof code === 'number' ? code : statusCode;
  return typeof found === 'number' ? found : undefined;
}

const MESSAGE_CHARS_MAX = 300;

/** One line, with the cause that libraries hide. */
export function messageOf(error: unknown): string {
  if (error === undefined || error === null) return 'the server has closed the watch';
  if (!(error instanceof Error)) return oneLine(JSON.stringify(error));
  const { cause, body } = error as {
    cause?: { message?: string; code?: string };
    body?: unknown;
  };
  const said = saidIn(body);
  if (said !== undefined) return oneLine(said);
  const why = [cause?.message, cause?.code].find((text) => text !== undefined && text !== '');
  return oneLine(why === undefined ? error.message : `${error.message}: ${why}`);
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= MESSAGE_CHARS_MAX ? line : `${line.slice(0, MESSAGE_CHARS_MAX)}…`;
}

/** The sentence in a status of the API server. */
function saidIn(body: unknown): string | undefined {
  try {
    const status: unknown = typeof body === 'string' ? JSON.parse(body) : body;
    const { message } = (status ?? {}) as { message?: unknown };
    return typeof message === 'string' ? message : undefined;
  } catch {
    return undefined;
  }
}
