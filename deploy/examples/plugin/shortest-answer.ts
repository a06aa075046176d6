/**
 * A plugin outside of the tree: prefers endpoints whose requests in flight will say the least. Run it with
 *
 *   npx pointsman simulate --plugin deploy/examples/plugin/shortest-answer.ts \
 *     --config deploy/examples/plugin/config.yaml --config default --trace … --pool …
 *
 * There is nothing to build or install: Node runs TypeScript files as they are. Types come from the package `pointsman`.
 */

interface Endpoint {
  readonly id: string;
}
interface Routed {
  readonly endpoint: Endpoint;
  readonly request: { readonly outputTokensMax: number | undefined };
}
interface Parameters {
  /** Taken for requests that do not say how long their answer may be. */
  readonly unknownTokens: number;
}

function parse(raw: unknown): Parameters {
  const { unknownTokens = 200, ...others } = (raw ?? {}) as Partial<Parameters>;
  const [stranger] = Object.keys(others);
  if (stranger !== undefined) throw new Error(`${stranger} is not a parameter of it`);
  if (!(unknownTokens > 0)) throw new Error(`unknownTokens is ${unknownTokens}, not above 0`);
  return { unknownTokens };
}

const shortestAnswer = {
  type: 'shortest-answer-scorer',
  config: { parse },
  create({ unknownTokens }: Parameters) {
    /** Tokens to come, by endpoint. `score` only reads it; what happens to requests changes it. */
    const tokens = new Map<string, number>();
    const add = ({ endpoint, request }: Routed, sign: number): void => {
      const size = request.outputTokensMax ?? unknownTokens;
      tokens.set(endpoint.id, (tokens.get(endpoint.id) ?? 0) + sign * size);
    };
    return {
      score: (endpoints: readonly Endpoint[]): readonly number[] =>
        endpoints.map(({ id }) => 1 / (1 + (tokens.get(id) ?? 0))),
      onRouted: (routed: Routed) => add(routed, 1),
      onDone: (routed: Routed) => add(routed, -1),
      onEndpointRemoved: ({ id }: Endpoint) => void tokens.delete(id),
    };
  },
};

export const plugins = { scorers: [shortestAnswer] };
