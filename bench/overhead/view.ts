/** Reads the events of the live page, as a browser does, until it is stopped. */
export async function view(
  metricsPort: number,
): Promise<{ stop(): void; readonly bytes: () => number }> {
  const abort = new AbortController();
  const response = await fetch(`http://127.0.0.1:${metricsPort}/debug/live`, {
    signal: abort.signal,
  });
  let bytes = 0;
  const reading = async (): Promise<void> => {
    for await (const chunk of response.body ?? []) bytes += chunk.length;
  };
  void reading().catch(() => undefined);
  return { stop: () => abort.abort(), bytes: () => bytes };
}
