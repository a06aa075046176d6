import { Presets, SingleBar } from 'cli-progress';

export interface Progress {
  start(label: string, total: number): void;
  update(value: number): void;
  stop(): void;
}

/** Where there is no terminal: so many lines for one run. */
const LINES = 4;

/** A bar on stderr where that is a terminal, else a line now and then; stdout stays for results. */
export function createProgress(): Progress {
  return process.stderr.isTTY ? bar() : lines();
}

function bar(): Progress {
  const options = {
    format: '  {label} [{bar}] {value}/{total} requests, {duration_formatted}',
    stream: process.stderr,
    hideCursor: true,
  };
  const single = new SingleBar(options, Presets.shades_classic);
  return {
    start: (label, total) => single.start(total, 0, { label: label.padEnd(18) }),
    update: (value) => single.update(value),
    stop: () => single.stop(),
  };
}

function lines(): Progress {
  let name = '';
  let last = 0;
  let total = 0;
  let next = 0;
  return {
    start: (label, count) => {
      name = label;
      total = count;
      next = total / LINES;
    },
    update: (value) => {
      last = value;
      if (value < next) return;
      process.stderr.write(`  ${name}: ${last}/${total} requests\n`);
      next += total / LINES;
    },
    stop: () => undefined,
  };
}
