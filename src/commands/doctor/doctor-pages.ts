import { adminUrl } from '../admin-client/admin-url.ts';
import { reasonOf } from '../admin-client/ask-picker.ts';
import { CommandFailure } from '../admin-client/command-errors.ts';

/** An answer over HTTP. */
export interface Page {
  readonly status: number;
  readonly text: string;
  /** The header `date`. */
  readonly date: string | undefined;
  /** When it was asked, and when the answer began to come, by the clock here in Unix time. */
  readonly fromMs: number;
  readonly untilMs: number;
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
    const untilMs = Date.now();
    const text = await response.text();
    return {
      status: response.status,
      text,
      date: response.headers.get('date') ?? undefined,
      fromMs,
      untilMs,
    };
  } catch (error) {
    throw new CommandFailure(`no answer from ${address} (${reasonOf(error)}); give ${hint}`);
  }
}
