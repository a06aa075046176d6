import type { Clock } from '../../framework/runtime.ts';
import { registerGoMemory } from '../../journal/metrics/process/go-memory.ts';
import { LOOP_DELAY_MAX_MS, LoopWatchdog } from '../../journal/metrics/process/loop-watchdog.ts';
import { measureLoopDelay } from '../../runtime/clock/loop-delay.ts';
import { FilesWatchdog } from '../../runtime/process/files-watchdog.ts';
import { memoryInUse } from '../../runtime/process/memory-limit.ts';
import { canOpenFile } from '../../runtime/process/open-files.ts';
import { type Registry, showProcess } from '../../runtime/prom-client.ts';
import type { MetricsOptions, ServeOptions } from '../options/serve-options.ts';

export interface ProcessWatch {
  /** Why the picker is degraded, as a sentence; undefined for no reason. */
  trouble(): string | undefined;
  stop(): void;
}

/** Puts the process on the metrics page: CPU, memory, files, garbage collection, the event loop. */
export function watchProcess(
  {
    loopDelayMaxMs = LOOP_DELAY_MAX_MS,
    log,
  }: Pick<MetricsOptions, 'loopDelayMaxMs'> & Pick<ServeOptions, 'log'>,
  { registry, clock }: { readonly registry: Registry; readonly clock: Clock },
): ProcessWatch {
  showProcess(registry);
  registerGoMemory(registry, memoryInUse);
  const delay = measureLoopDelay();
  const watchdog = new LoopWatchdog({
    delayMaxMs: loopDelayMaxMs,
    read: () => delay.read(),
    clock,
    registry,
    log,
  });
  const files = new FilesWatchdog({ canOpen: canOpenFile, clock, log });
  return {
    trouble: () => files.trouble() ?? watchdog.trouble(),
    stop: () => {
      files.stop();
      watchdog.stop();
      delay.stop();
    },
  };
}
