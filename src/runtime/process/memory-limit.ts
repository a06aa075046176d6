import { totalmem } from 'node:os';

/** Bytes that this process may use: its container's limit, or the machine's memory. */
export function memoryLimitBytes(): number {
  // 0, or a number that is far too large, where there is no limit.
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

/** What this process has of memory now, in bytes. */
export function memoryInUse(): NodeJS.MemoryUsage {
  return process.memoryUsage();
}
