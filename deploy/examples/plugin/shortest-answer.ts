/**
 * A plugin outside of the tree: prefers the endpoint whose requests in flight will generate the
 * fewest tokens. Run it with
 *
 *   npx pointsman simulate --plugin deploy/examples/plugin/shortest-answer.ts \
 *     --config deploy/examples/plugin/config.yaml --config default \
 *     --trace bench/traces/mooncake-conversation-5min.jsonl --pool deploy/examples/pool.yaml
 *
 * There is nothing to build or install: Node runs TypeScript as it is and erases imports of types.
 */
import type { Endpoint, Routed } from 'pointsman';

interface Parameters {
  /** Assumed for requests that do not limit the length of their answer. */
  readonly unknownTokens: number;
}

function parse(raw: unknown): Parameters {
  const { unknownTokens = 200, ...others } = (raw ?? {}) as Partial<Parameters>;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new Error(`${unknown} is not a parameter`);
  if (!(unknownTokens > 0)) throw new Error(`unknownTokens is ${unknownTokens}, not above 0`);
  return { unknownTokens };
}

const shortestAnswer = {
  type: 'shortest-answer-scorer',
  config: { parse },
  create({ unknownTokens }: Parameters) {
    /** Tokens still to be generated, by endpoint. `score` only reads it; observers change it. */
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
