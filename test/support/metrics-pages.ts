import { ENGINES, type EngineMapping } from '../../src/endpoints/scraping/page/engine-metrics.ts';
import { PageReader } from '../../src/endpoints/scraping/page/page-reader.ts';
import type { PageReading, PageRefusal } from '../../src/endpoints/scraping/page/reading.ts';

export const VLLM_LOAD = 'vllm:num_requests_running 1\nvllm:num_requests_waiting 1\n';

export function mappingOf(engine: string): EngineMapping {
  const mapping = ENGINES.find(({ name }) => name === engine);
  if (mapping === undefined) throw new Error(`no engine ${engine}`);
  return mapping;
}

export function reader(engine: string): PageReader {
  return new PageReader(mappingOf(engine));
}

/** A line of a series such as `name{kind=used}` or `name{kind=""}` with further labels. */
export function lineOf(
  series: string | undefined,
  labels: string,
  value: string,
): string | undefined {
  if (series === undefined) return undefined;
  const wanted = /\{(.*)="?(.*?)"?\}/.exec(series);
  const own = wanted === null ? '' : `,${wanted[1]}="${wanted[2]}"`;
  return `${series.replace(/\{.*/, '')}${labels.replace('}', `${own}}`)} ${value}`;
}

export function read(engine: string, lines: readonly string[]): PageReading | undefined {
  return usedFrom(reader(engine).read(page(lines)));
}

export function usedFrom(reading: PageReading | PageRefusal | undefined): PageReading | undefined {
  if (reading !== undefined && 'refused' in reading) throw new Error(reading.refused);
  return reading;
}

export function page(lines: readonly string[]): Buffer {
  return Buffer.from(`${lines.join('\n')}\n`);
}
