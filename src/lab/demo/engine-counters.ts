import { request } from 'undici';

export interface PrefixCounters {
  readonly queriedTokens: number;
  readonly hitTokens: number;
}

/** Sums vLLM's prefix-cache counters over the pool's metrics pages. */
export async function readPrefixCounters(addresses: readonly string[]): Promise<PrefixCounters> {
  const pages = await Promise.all(
    addresses.map(async (address) => (await request(`http://${address}/metrics`)).body.text()),
  );
  const sum = (name: string): number =>
    pages.reduce((total, page) => total + sampleOf(page, name), 0);
  return {
    queriedTokens: sum('vllm:prefix_cache_queries_total'),
    hitTokens: sum('vllm:prefix_cache_hits_total'),
  };
}

function sampleOf(page: string, name: string): number {
  const line = page.split('\n').find((each) => each.startsWith(name));
  if (line === undefined) throw new Error(`a metrics page has no ${name}`);
  return Number(line.slice(line.lastIndexOf(' ') + 1));
}
