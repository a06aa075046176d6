import { adminUrl } from '../admin-client/admin-url.ts';
import { reasonOf } from '../admin-client/ask-picker.ts';
import { CommandFailure } from '../admin-client/command-errors.ts';

/** An answer over HTTP. */
export interface Page {
  readonly status: number;
  readonly text: string;
  /** The header `date`. */
  readonly date: string | undefined;
  /** The middle of the exchange by the clock here, in milliseconds since the epoch. */
  readonly askedMs: number;
}

const TIMEOUT_MS = 10_000;

/** Reads a page of an admin port. Throws CommandFailure where there is no answer. */
export async function pageAt(
  address: string,
  path: string,
  { hint, token }: { readonly hint: string; readonly token?: string | undefined },
): Promise<Page> {
  const url = adminUrl(address, path, `give ${hint}`);
  const fromMs = Date.now();
  try {
    const response = await fetch(url, {
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
    });
    const askedMs = (fromMs + Date.now()) / 2;
    const text = await response.text();
    return {
      status: response.status,
      text,
      date: response.headers.get('date') ?? undefined,
      askedMs,
    };
  } catch (error) {
    throw new CommandFailure(`no answer from ${address} (${reasonOf(error)}); give ${hint}`);
  }
}
