import { Presets, SingleBar } from 'cli-progress';
import { grouped } from '../../framework/values/grouped.ts';

interface Progress {
  /** `payload` fills the placeholders of the format, such as `{failed}`. */
  update(value: number, payload?: object): void;
  stop(): void;
}

interface ProgressOptions {
  readonly total: number;
  /** What follows the bar, with cli-progress's placeholders, such as `{value}/{total} requests`. */
  readonly format: string;
  /** First values of the format's own placeholders. */
  readonly payload?: object;
  /** Text before the bar. */
  readonly label?: string;
  /** Number of lines over the whole run if stderr is no terminal; 0 unless given. */
  readonly lines?: number;
}

const BAR_CHARS = 40;
/** In a narrower terminal the counts behind a whole bar would be cut. */
const COLUMNS_WIDE = 120;

/** Shows progress on stderr: as a bar if that is a terminal, otherwise as a few lines. */
export function startProgress(options: ProgressOptions): Progress {
  const { total, format, payload, label = '' } = options;
  if (!process.stderr.isTTY) return printLines(options);
  const bar = new SingleBar(
    {
      format: `  ${label}[{bar}] ${format}`,
      stream: process.stderr,
      // Ctrl-C may end the process before anything could show the cursor or wrap lines again.
      hideCursor: false,
      linewrap: true,
      formatValue: (value, _options, type) => (isCount(type) ? grouped(value) : String(value)),
      barsize: process.stderr.columns < COLUMNS_WIDE ? BAR_CHARS / 2 : BAR_CHARS,
    },
    Presets.shades_classic,
  );
  bar.start(total, 0, readable(payload));
  return {
    update: (value, payload) => bar.update(value, readable(payload)),
    stop: () => bar.stop(),
  };
}

function isCount(type: string): boolean {
  return type === 'value' || type === 'total';
}

/** The payload with a mark at thousands in its counts. */
function readable(payload: object = {}): object {
  const entries = Object.entries(payload).map(([name, value]: readonly [string, unknown]) => [
    name,
    typeof value === 'number' ? grouped(value) : value,
  ]);
  return Object.fromEntries(entries) as object;
}

function printLines({ total, format, label = '', lines = 0 }: ProgressOptions): Progress {
  let next = total / lines;
  return {
    update: (value) => {
      if (value < next) return;
      const [counts = ''] = format.split(',');
      const text = counts.replace('{value}', grouped(value)).replace('{total}', grouped(total));
      process.stderr.write(`  ${label.trim()}: ${text}\n`);
      next += total / lines;
    },
    stop: () => undefined,
  };
}
