import { createPicker } from '../../src/index.ts';
import { refuse, SimulatedServer } from '../../src/lab/simulate/simulated-server.ts';
import type {
  EmbeddedPicker,
  MetricsSample,
  PickerOptions,
} from '../../src/library/create-picker.ts';
import type { ScenarioRun } from '../scenarios/scenario.ts';

type AddedEndpoint = Parameters<EmbeddedPicker['addEndpoint']>[0];

/** What servers report in place of what is. */
export interface Reports {
  readonly endpoint?: (endpoint: AddedEndpoint) => AddedEndpoint;
  readonly sample?: (sample: MetricsSample) => MetricsSample;
}

/** A picker whose servers report something else than what is. */
export function reportedOtherwise({
  endpoint = (each) => each,
  sample = (each) => each,
}: Reports): Pick<ScenarioRun, 'createPicker'> {
  return {
    createPicker(options: PickerOptions): EmbeddedPicker {
      const picker = createPicker(options);
      return {
        ...picker,
        addEndpoint: (each) => picker.addEndpoint(endpoint(each)),
        setMetrics: (id, each) => picker.setMetrics(id, sample(each)),
      };
    },
  };
}

export const withoutKvSize: Reports = {
  endpoint: ({ id, labels = {} }) => ({ id, labels }),
};

/** The size of the KV memory that is reported is so many times the true one. */
export function kvSizeTimes(factor: number): Reports {
  return {
    endpoint: ({ cache, ...endpoint }) => ({
      ...endpoint,
      ...(cache && { cache: { ...cache, blocks: factor * cache.blocks } }),
    }),
  };
}

/** Each server is one of the stub's, and one of them has a short context window. */
export function shortWindow(id: string, tokensMax: number): Pick<ScenarioRun, 'createServer'> {
  return {
    createServer: (spec, parts) =>
      spec.id === id
        ? new ShortWindowServer(spec, { ...parts, tokensMax })
        : new SimulatedServer(spec, parts),
  };
}

class ShortWindowServer extends SimulatedServer {
  readonly #tokensMax: number;

  constructor(
    spec: ConstructorParameters<typeof SimulatedServer>[0],
    {
      tokensMax,
      ...parts
    }: ConstructorParameters<typeof SimulatedServer>[1] & { readonly tokensMax: number },
  ) {
    super(spec, parts);
    this.#tokensMax = tokensMax;
  }

  override submit(request: Parameters<SimulatedServer['submit']>[0]) {
    return request.promptTokens + request.outputTokens > this.#tokensMax
      ? refuse(request)
      : super.submit(request);
  }
}

/** Servers that find no prefix again: engines that were started so. */
export const withoutPrefixCache: Pick<ScenarioRun, 'createServer'> = {
  createServer: (spec, parts) => new ForgetfulServer(spec, parts),
};

class ForgetfulServer extends SimulatedServer {
  override submit(request: Parameters<SimulatedServer['submit']>[0]) {
    return super.submit({ ...request, blockHashes: [] });
  }
}
