import type { Network } from '../../framework/runtime.ts';
import type { PickerMetrics } from './metrics.ts';

const OK = 200;

/** The same network, with every poll that fails or is answered by an error counted under `sourceType`. */
export function countPolls(network: Network, metrics: PickerMetrics, sourceType: string): Network {
  const count = (): void => metrics.countPollError(sourceType);
  return {
    ...network,
    get(url, options) {
      const answer = network.get(url, options);
      answer.then(({ status }) => {
        if (status !== OK) count();
      }, count);
      return answer;
    },
  };
}
