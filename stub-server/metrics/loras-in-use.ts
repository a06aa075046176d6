import type { ModelEngine } from '../engine/model-engine.ts';
import type { LorasInUse } from './series-family.ts';

/** The adapters of running and waiting requests, as one entry with the current time. */
export function lorasInUse(
  engine: Pick<ModelEngine, 'loras' | 'forEachWaiting'>,
  wallSeconds: () => number,
): readonly LorasInUse[] {
  const waiting = new Set<string>();
  engine.forEachWaiting(({ request }) => {
    if (request.lora !== undefined) waiting.add(request.lora);
  });
  const timestamp = wallSeconds();
  return [
    { running: [...engine.loras.running].join(','), waiting: [...waiting].join(','), timestamp },
  ];
}
