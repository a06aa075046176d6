import type { CycleFact } from '../../framework/plugin.ts';
import type { Decider } from '../../framework/scheduling.ts';
import type { PluginFaults } from './plugin-faults.ts';

/** A decider that fails leaves every stage to the decoding server. */
export function guardedDecider(decider: Decider, faults: PluginFaults): Decider {
  const keeps = decider.keeps?.bind(decider);
  const guarded = (call: 'separates' | 'keeps', decide: () => boolean): boolean => {
    try {
      return decide();
    } catch (error) {
      faults.reportOrRefuse(decider, call, error);
      return false;
    }
  };
  return {
    separates: (decode, context) => guarded('separates', () => decider.separates(decode, context)),
    ...(keeps && {
      keeps: (...asked) => guarded('keeps', () => keeps(...asked)),
    }),
  };
}

/**
 * Names the data source whose fact fails, where only the plugin that asks for it would be named.
 */
export function guardedFact<T>(
  source: object,
  fact: CycleFact<T>,
  faults: PluginFaults,
): CycleFact<T> {
  const { key } = fact;
  return {
    key,
    compute: (endpoints, context) => {
      try {
        return fact.compute(endpoints, context);
      } catch (error) {
        faults.reportOrRefuse(source, `fact ${key.name}`, error);
        throw new Error(`the fact ${key.name} could not be computed`, { cause: error });
      }
    },
  };
}
